"""Guards the git folder that a linked worktree shares with its repository, outside the folder of the session.

Commands write objects, branches and the state of the worktree there. The sandbox protects the hooks and settings that
exist; files that would make git run a program and appear during a command are removed after it.
"""

import contextlib
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from core.domain.problems import Problem
from core.domain.sensitive_paths import LARGE_IN_GIT, READ_ONLY_IN_GIT
from core.tools.expected_git_files import expected_in_git
from core.workspace import forced_access
from core.workspace.broker import FileBroker
from core.workspace.folder_listing import FILES, GitTrees
from core.workspace.folder_scan import ScannedChange
from core.workspace.git_branch import worktree_git_folders
from core.workspace.paths import is_in_any
from core.workspace.trusted_places import git_acts_on

SUBFOLDERS = ("modules", "worktrees")  # whose entries are git folders of any name


@dataclass(frozen=True, slots=True)
class _File:
    """A file that git acts on. `body` is None for a link, and for a file that cannot be read."""

    body: bytes | None
    mode: int


class SharedRepository:
    """The shared git folder of the worktree in `folder`; nothing happens unless the folder is a linked worktree."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._git: Path | None = None
        self._files: dict[str, _File] = {}
        self._folders: set[str] = set()
        self._protected: set[str] = set()
        self._trees = GitTrees()

    def keep(self) -> None:
        """Keep the files that git acts on as they are before a command."""
        folders = worktree_git_folders(self._folder)
        self._git = folders[1] if folders else None
        if self._git is None:
            return
        with self._open() as broker:
            entries = list(self._walk(broker))
            self._files = dict(_read(broker, entries))
            self._folders = {path for path, kind in entries if kind == "folder"}
            heads = (path for path, kind in entries if kind == "file" and path.endswith("/HEAD"))
            tops = {"", *(path.removesuffix("/HEAD") for path in heads)}  # also those of submodules and worktrees
            self._protected = {
                place
                for top in tops
                for parts in READ_ONLY_IN_GIT
                if broker.stat(place := "/".join(filter(None, (top, *parts)))) or parts == ("hooks",)
            }

    def revert(self) -> tuple[str, ...]:
        """Revert what makes git run a program since `keep`, and return the paths."""
        reverted: list[str] = []
        if self._git is None:
            return ()
        with self._open() as broker:
            for path, file in _read(broker, self._walk(broker)):
                before = self._files.get(path)
                if file == before or self._is_protected(path):
                    continue
                change = ScannedChange(path, before.body if before else None, file.body)
                expected = expected_in_git(path, change)
                if expected == "as it is":
                    continue
                with contextlib.suppress(OSError):
                    if expected is None:
                        forced_access.remove(broker.descriptor, path)
                        forced_access.remove_empty_folders(broker.descriptor, path, self._folders.__contains__)
                    else:
                        forced_access.replace(broker.descriptor, path, expected, before.mode if before else 0o644)
                    reverted.append(str(self._git / path))
        return tuple(reverted)

    def _open(self) -> FileBroker:
        assert self._git
        return FileBroker(self._git)

    def _is_protected(self, path: str) -> bool:
        """Return whether only the user can have changed a file, because the sandbox kept commands from it."""
        return is_in_any(path, self._protected)

    def _walk(self, broker: FileBroker) -> Iterator[tuple[str, str]]:
        """Yield each path in the git folder with its kind; of the large folders of repositories only what is foreign.

        Raise Problem if there are too many.
        """
        waiting, count = [""], 0
        while waiting:
            folder = waiting.pop()
            try:
                entries = broker.entries(folder or ".")
            except Problem:
                continue
            count += len(entries)
            if count > FILES:
                cause = f"It has more than {FILES:,} files."
                raise Problem(
                    f"The repository {broker.folder} cannot be checked.", cause, "Remove what does not belong."
                )
            for name, kind in entries:
                path = f"{folder}/{name}" if folder else name
                yield path, kind
                if kind != "folder":
                    continue
                if name in LARGE_IN_GIT and folder.rpartition("/")[2] not in SUBFOLDERS:
                    waiting += self._trees.foreign_folders(broker.folder, path, lambda _: False)
                else:
                    waiting.append(path)


def _read(broker: FileBroker, entries: Iterable[tuple[str, str]]) -> Iterator[tuple[str, _File]]:
    """Yield the files that git acts on, and links."""
    for path, kind in entries:
        if kind == "link" and (path.rpartition("/")[2] != "HEAD" or "logs" in path.split("/")):
            yield path, _File(None, 0)
        elif kind not in ("folder", "link") and git_acts_on(f".git/{path}"):
            try:
                status = broker.stat(path)
                yield path, _File(broker.read(path), stat.S_IMODE(status.st_mode) if status else 0o644)
            except Problem:
                yield path, _File(None, 0)
