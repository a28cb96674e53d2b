"""The paths in a folder that other programs trust: those of the table, targets of links, and files that git runs.

Git runs the programs and hooks, and reads the files, that its configuration names.
"""

import functools
import os
import posixpath
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from core.domain.git_config import named_files
from core.domain.problems import Problem
from core.domain.sensitive_paths import HIDDEN_NAMES, is_hidden_from_commands, is_read_only, path_in_git
from core.domain.trusted_files import PROTECTED
from core.workspace.broker import FileBroker
from core.workspace.folder_listing import inside_git
from core.workspace.git_branch import enclosing_repository, read_small_text
from core.workspace.readable_system import home_folder

CONFIG_FILES = ("config", "config.worktree")
COMMONDIR = "commondir"  # the file that names the common folder of a git folder, with its configuration
REBASE_TODO = "git-rebase-todo"  # the steps of an interrupted rebase, which can execute commands
# The merge strategy of an interrupted rebase or cherry-pick: git runs the program `git-merge-STRATEGY`, also by a path.
STRATEGY_FILES = (("rebase-merge", "strategy"), ("rebase-apply", "strategy"), ("sequencer", "opts"))
REMOTE_FOLDERS = ("remotes", "branches")  # in which git looks for the address of a remote that is not configured
CONFIG_LIMIT = 64 << 10
MAX_INCLUDED = 50  # files that a configuration includes, also indirectly
# Settings whose value is a path, even one that does not exist yet.
# Other values name a file only if it exists, as in `python3 clean.py`.
_PATH_KEYS = re.compile(r"core\.(hookspath|attributesfile)|include(if)?\.path")


def _names(names: Iterable[str]) -> str:
    return "|".join(re.escape(pattern).replace(r"\*", "[^/]*").replace(r"\?", "[^/]") for pattern in names)


# A cheap filter before the exact rules: names of the tables, and names beyond ASCII.
_FIRST = _names(sorted({parts[0] for parts in PROTECTED if parts[0][0] not in "._"}))
_HIDDEN = _names(name for name in HIDDEN_NAMES if name[0] not in "._")
_NOTEWORTHY = re.compile(rf"(?i)(?:^|/)(?:[._#]|(?:{_FIRST})(?:/|$)|[^/]*(?:{_HIDDEN})[^/]*$)|[^\x00-\x7f]")
NOTEWORTHY = re.compile(_NOTEWORTHY.pattern.replace("(?:^|/)", "/").encode())  # for lines that end with "./path"


class TrustedPlaces:
    """The trusted paths of one folder. `update` looks for further ones in links and in configurations of git."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._global: list[tuple[str, str, str]] | None = None
        self._further: tuple[str, ...] = ()

    def is_trusted(self, path: str) -> bool:
        """Return whether other programs trust this path; in a git folder, whether git acts on it."""
        if inside_git(path):
            return git_acts_on(path)
        return (bool(_NOTEWORTHY.search(path)) and is_read_only(path)) or self._is_further(path)

    @property
    def further(self) -> tuple[str, ...]:
        """The trusted files and folders that the table does not name."""
        return self._further

    def set_further(self, paths: Iterable[str]) -> None:
        """Set what an earlier `update` found."""
        self._further = tuple(paths)

    def update(self, broker: FileBroker, links: Iterable[str], configs: Iterable[tuple[str, str]]) -> None:
        """Find further places. `links` are trusted links; `configs` are git configurations with their contents."""
        paths: set[str] = set()
        for link in links:
            try:
                target = broker.resolve(link)
            except Problem:
                continue
            paths |= {target} if not _contains(target, link) else set()
        root = os.path.realpath(self._folder)
        for path, text in configs:
            top = posixpath.join(root, path.partition(".git/")[0])
            for base, key, word in _named_words(posixpath.join(root, path), text, top):
                paths |= self._trusted_target(broker, base, key, word)
        for base, key, word in self._settings():
            paths |= {"."} if self._is_in_hooks(base, key, word) else self._trusted_target(broker, base, key, word)
        self._further = tuple(sorted(path for path in paths if not is_read_only(path)))

    def _is_further(self, path: str) -> bool:
        return any(trusted in (".", path) or path.startswith(f"{trusted}/") for trusted in self._further)

    def _is_in_hooks(self, base: str, key: str, word: str) -> bool:
        """Return whether the whole folder is in the folder of hooks that this setting names."""
        hooks, folder = posixpath.normpath(posixpath.join(base, word)), os.path.realpath(self._folder)
        return key == "core.hookspath" and hooks != base and f"{folder}/".startswith(f"{hooks}/")

    def _settings(self) -> list[tuple[str, str, str]]:
        """Return the words of the user's own configuration, and of the repository that the folder is in.

        Each one comes with the folder that a path is relative to, and with its key.
        """
        if self._global is None:
            home, repository = home_folder(), enclosing_repository(Path(os.path.realpath(self._folder)))
            top = repository[0] if repository else self._folder
            files = [home / ".gitconfig", home / ".config/git/config"] if home else []
            if repository:
                common = repository[1] / (read_small_text(repository[1] / COMMONDIR).strip() or ".")
                files += [git / name for git in {repository[1], common} for name in CONFIG_FILES]
            self._global = [
                named for file in files for named in _named_words(str(file), _read_config(str(file)), str(top))
            ]
        return self._global

    def _trusted_target(self, broker: FileBroker, base: str, key: str, word: str) -> set[str]:
        is_path = bool(_PATH_KEYS.fullmatch(key))
        path = posixpath.normpath(self._inside(posixpath.normpath(posixpath.join(base, word))))
        if path in (".", "..") or path.startswith(("../", "/")):
            return set()
        try:
            status = broker.stat(path)
            return {broker.resolve(path)} if is_path or (status and not stat.S_ISDIR(status.st_mode)) else set()
        except Problem:
            return set()

    def _inside(self, path: str) -> str:
        root = os.path.realpath(self._folder)
        return path[len(root) + 1 :] or "." if f"{path}/".startswith(f"{root}/") else path


def git_acts_on(path: str) -> bool:
    """Return whether a file in a git folder, also of a submodule or worktree, can make git run a program."""
    inner_path = path_in_git(path)
    parts = inner_path.split("/")
    is_config = parts[-1] in (*CONFIG_FILES, COMMONDIR, REBASE_TODO) or tuple(parts[-2:]) in STRATEGY_FILES
    # The program of GitLab reads there which server it sends the token of the user to.
    return (
        is_config
        or not {"hooks", "glab-cli"}.isdisjoint(parts)
        or inner_path.endswith("info/attributes")
        or is_remote_file(inner_path)
    )


def is_remote_file(inner_path: str) -> bool:
    """Return whether git reads the address of a remote from this file in a git folder, also of a submodule."""
    folders = inner_path.split("/")[:-1]
    is_reference = folders[-2:-1] == ["refs"] and folders[-3:-2] != ["modules"]
    return bool(folders) and folders[-1] in REMOTE_FOLDERS and not is_reference


@functools.lru_cache(maxsize=4096)
def trusted_place(path: str) -> str:
    """Return the topmost folder above a trusted path that is trusted as a whole, or the path itself."""
    folder = path.rpartition("/")[0]
    return trusted_place(folder) if folder and is_read_only(folder) else path


def is_noted(path: str) -> bool:
    """Return whether a path has to be protected or hidden by its name."""
    return is_read_only(path) or is_hidden_from_commands(path)


def _named_words(file: str, text: str, top: str) -> Iterator[tuple[str, str, str]]:
    """Yield the words of a configuration, and of the files that it includes, that can name a file.

    Each one comes with the folder that a path is relative to, and with its key. `top` is the top folder of the
    repository, unless the configuration names another one, as that of a submodule does.
    """
    read, waiting = {file: text}, [file]
    while waiting:
        current = waiting.pop()
        words = [(key, word) for key, word in named_files(read[current]) if word and "\0" not in word]
        named = [(key, os.path.expanduser(word)) for key, word in words]  # noqa: PTH111 - it accepts unknown users
        for worktree in (word for key, word in named if key == "core.worktree"):
            top = posixpath.normpath(posixpath.join(posixpath.dirname(current), worktree))
        for key, word in named:
            if not key.startswith("include"):
                yield top, key, word
                continue
            yield posixpath.dirname(current), key, word
            included = posixpath.normpath(posixpath.join(posixpath.dirname(current), word))
            if included not in read and len(read) <= MAX_INCLUDED:
                read[included] = _read_config(included)
                waiting.append(included)


def _read_config(file: str) -> str:
    return read_small_text(Path(file), CONFIG_LIMIT)


def _contains(folder: str, path: str) -> bool:
    return folder in (".", "") or path.startswith(f"{folder}/")
