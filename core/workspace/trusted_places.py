"""The paths in a folder that programs outside the sandbox trust, so that commands must not change them.

They are the paths of a fixed table, targets of links, and the programs, hooks and files that git configurations name.
"""

import functools
import os
import posixpath
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from core.domain.git_config import words_naming_files
from core.domain.problems import Problem
from core.domain.sensitive_paths import HIDDEN_NAMES, is_hidden_from_commands, is_read_only, path_in_git
from core.domain.trusted_files import PROTECTED
from core.workspace.broker import FileBroker
from core.workspace.folder_listing import inside_git
from core.workspace.git_branch import enclosing_repository, read_small_text
from core.workspace.readable_system import home_folder

CONFIG_FILES = ("config", "config.worktree")
COMMONDIR = "commondir"  # names the folder from which git reads configuration and objects
REBASE_TODO = "git-rebase-todo"  # the steps of an interrupted rebase, which may execute commands
# Files with the merge strategy of an interrupted rebase or cherry-pick. Git runs the program `git-merge-STRATEGY`.
STRATEGY_FILES = (("rebase-merge", "strategy"), ("rebase-apply", "strategy"), ("sequencer", "opts"))
REMOTE_FOLDERS = ("remotes", "branches")  # folders in which git looks up the URL of a remote that is not configured
# A folder in a git folder. With `.git/safe/../../bin` in PATH, shells run programs of a repository that has it.
SAFE_MARK = "safe"
CONFIG_LIMIT = 64 << 10
MAX_INCLUDED = 50  # most files that one configuration may include, directly or indirectly
# Settings whose value is a path, even of a missing file. Words in other settings count only if they name an existing
# file, as in `python3 clean.py`.
_PATH_KEYS = re.compile(r"core\.(hookspath|attributesfile)|include(if)?\.path")


def _names(names: Iterable[str]) -> str:
    return "|".join(re.escape(pattern).replace(r"\*", "[^/]*").replace(r"\?", "[^/]") for pattern in names)


# A fast pre-filter for the exact rules, which matches all names of the tables and all names beyond ASCII.
_FIRST = _names(sorted({parts[0] for parts in PROTECTED if parts[0][0] not in "._"}))
_HIDDEN = _names(name for name in HIDDEN_NAMES if name[0] not in "._")
_NOTEWORTHY = re.compile(rf"(?i)(?:^|/)(?:[._#]|(?:{_FIRST})(?:/|$)|[^/]*(?:{_HIDDEN})[^/]*$)|[^\x00-\x7f]")
# The same for lines of a snapshot, which end with "./path".
NOTEWORTHY = re.compile(_NOTEWORTHY.pattern.replace("(?:^|/)", "/").encode())


class _NamedWord(NamedTuple):
    """A word in a git configuration that can name a file."""

    base: str  # the folder that the name is relative to
    key: str  # of the setting
    word: str


class TrustedPlaces:
    """The trusted paths of one folder. `update` finds those that links and git configurations define."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._outer_words: list[_NamedWord] | None = None  # of configurations outside the folder, read once
        self._further: tuple[str, ...] = ()

    def is_trusted(self, path: str) -> bool:
        """Return whether programs outside the sandbox trust this path; in a git folder, whether git acts on it."""
        if inside_git(path):
            return git_acts_on(path)
        return (bool(_NOTEWORTHY.search(path)) and is_read_only(path)) or self._is_further(path)

    @staticmethod
    def marks(folders: Iterable[str]) -> list[str]:
        """Return those of these folders whose mere existence makes shells run programs of the repository, sorted."""
        return sorted(folder for folder in folders if path_in_git(folder) == SAFE_MARK)

    @property
    def further(self) -> tuple[str, ...]:
        """The trusted files and folders that links and git configurations define, beyond the fixed table."""
        return self._further

    def set_further(self, paths: Iterable[str]) -> None:
        """Restore `further` from an earlier `update`, possibly of another process."""
        self._further = tuple(paths)

    def update(self, broker: FileBroker, links: Iterable[str], configs: Mapping[str, str]) -> None:
        """Find further trusted paths, through trusted `links` and through `configs`, git configurations by path."""
        paths: set[str] = set()
        for link in links:
            try:
                target = broker.resolve(link)
            except Problem:
                continue
            if not _contains(target, link):
                paths.add(target)
        root = os.path.realpath(self._folder)
        for path, text in configs.items():
            top = posixpath.join(root, path.partition(".git/")[0])
            for named in _named_words(posixpath.join(root, path), text, top):
                paths |= self._trusted_target(broker, named)
        for named in self._words_of_outer_configs():
            paths |= {"."} if self._is_in_hooks(named) else self._trusted_target(broker, named)
        self._further = tuple(sorted(path for path in paths if not is_read_only(path)))

    def _is_further(self, path: str) -> bool:
        return any(trusted in (".", path) or path.startswith(f"{trusted}/") for trusted in self._further)

    def _is_in_hooks(self, named: _NamedWord) -> bool:
        """Return whether this setting is `core.hooksPath` and names the folder itself or one above it."""
        hooks = posixpath.normpath(posixpath.join(named.base, named.word))
        folder = os.path.realpath(self._folder)
        return named.key == "core.hookspath" and hooks != named.base and f"{folder}/".startswith(f"{hooks}/")

    def _words_of_outer_configs(self) -> list[_NamedWord]:
        """Return the words in the user's git configuration and in that of the enclosing repository."""
        if self._outer_words is None:
            home, repository = home_folder(), enclosing_repository(Path(os.path.realpath(self._folder)))
            top = repository.top if repository else self._folder
            files = [home / ".gitconfig", home / ".config/git/config"] if home else []
            if repository:
                git_folder = repository.git_folder
                common = git_folder / (read_small_text(git_folder / COMMONDIR).strip() or ".")
                files += [git / name for git in {git_folder, common} for name in CONFIG_FILES]
            self._outer_words = [
                named for file in files for named in _named_words(str(file), _read_config(str(file)), str(top))
            ]
        return self._outer_words

    def _trusted_target(self, broker: FileBroker, named: _NamedWord) -> set[str]:
        """Return the path inside the folder that a word names; an empty set if it names none."""
        path = posixpath.normpath(self._relative(posixpath.normpath(posixpath.join(named.base, named.word))))
        if path in (".", "..") or path.startswith(("../", "/")):
            return set()
        try:
            status = broker.stat(path)
            is_existing_file = status is not None and not stat.S_ISDIR(status.st_mode)
            names_file = is_existing_file or _PATH_KEYS.fullmatch(named.key)
            return {broker.resolve(path)} if names_file else set()
        except Problem:
            return set()

    def _relative(self, path: str) -> str:
        """Return a path inside the folder relative to it; any other path unchanged."""
        root = os.path.realpath(self._folder)
        if not f"{path}/".startswith(f"{root}/"):
            return path
        return path[len(root) + 1 :] or "."


def git_acts_on(path: str) -> bool:
    """Return whether a path in a git folder, or in that of a submodule or worktree, can make git run a program."""
    inner_path = path_in_git(path)
    parts = inner_path.split("/")
    is_config = parts[-1] in (*CONFIG_FILES, COMMONDIR, REBASE_TODO) or tuple(parts[-2:]) in STRATEGY_FILES
    # glab, the GitLab CLI, reads from `glab-cli` where to send the user's token; lazygit reads commands from its file.
    return (
        is_config
        or not {"hooks", "glab-cli", "lazygit.yml"}.isdisjoint(parts)
        or inner_path.endswith("info/attributes")
        or inner_path == SAFE_MARK
        or is_remote_file(inner_path)
    )


def is_remote_file(inner_path: str) -> bool:
    """Return whether git reads the URL of a remote from this file in a git folder or in that of a submodule."""
    folders = inner_path.split("/")[:-1]
    is_reference = folders[-2:-1] == ["refs"] and folders[-3:-2] != ["modules"]
    return bool(folders) and folders[-1] in REMOTE_FOLDERS and not is_reference


@functools.lru_cache(maxsize=4096)
def trusted_place(path: str) -> str:
    """Return the topmost folder above a trusted path that is trusted as a whole, or the path itself."""
    folder = path.rpartition("/")[0]
    return trusted_place(folder) if folder and is_read_only(folder) else path


def is_noted(path: str) -> bool:
    """Return whether the name of a path alone requires that it is protected or hidden."""
    return is_read_only(path) or is_hidden_from_commands(path)


def _named_words(file: str, text: str, top: str) -> Iterator[_NamedWord]:
    """Yield the words of a git configuration, and of files that it includes, that can name a file.

    `top` is the top folder of the repository, unless `core.worktree` names another one, as in a submodule.
    """
    texts, waiting = {file: text}, [file]
    while waiting:
        current = waiting.pop()
        folder = posixpath.dirname(current)
        words = [(key, word) for key, word in words_naming_files(texts[current]) if word and "\0" not in word]
        expanded = [(key, os.path.expanduser(word)) for key, word in words]  # noqa: PTH111 - it accepts unknown users
        for worktree in (word for key, word in expanded if key == "core.worktree"):
            top = posixpath.normpath(posixpath.join(folder, worktree))
        for key, word in expanded:
            if not key.startswith("include"):
                yield _NamedWord(base=top, key=key, word=word)
                continue
            yield _NamedWord(base=folder, key=key, word=word)
            included = posixpath.normpath(posixpath.join(folder, word))
            if included not in texts and len(texts) <= MAX_INCLUDED:
                texts[included] = _read_config(included)
                waiting.append(included)


def _read_config(file: str) -> str:
    return read_small_text(Path(file), CONFIG_LIMIT)


def _contains(folder: str, path: str) -> bool:
    return folder in (".", "") or path.startswith(f"{folder}/")
