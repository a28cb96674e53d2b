"""Guards the git folder that a linked worktree shares with its repository, outside the folder of the session.

Commands may write objects, branches and the state of the worktree there. The sandbox protects existing hooks and
settings. New files that would make git run a program are removed after the command.
"""

import contextlib
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from core.domain.problems import Problem
from core.domain.sensitive_paths import LARGE_IN_GIT, READ_ONLY_IN_GIT
from core.tools.git_file_reverts import required_git_revert
from core.workspace import forced_access
from core.workspace.broker import EntryKind, FileBroker
from core.workspace.file_change import FileChange, FileModes
from core.workspace.folder_listing import FILES, GitTrees
from core.workspace.git_branch import worktree_git_folders
from core.workspace.paths import is_in_any
from core.workspace.trusted_places import SAFE_MARK, git_acts_on

SUBFOLDERS = ("modules", "worktrees")  # folders in `.git` that contain git folders of submodules and worktrees


class _Entry(NamedTuple):
    """The path of a file or folder in a git folder, and its kind."""

    path: str
    kind: EntryKind


@dataclass(frozen=True, slots=True)
class _File:
    """A file whose contents git acts on. `body` is None for a symbolic link and for an unreadable file."""

    body: bytes | None
    mode: int


class SharedRepository:
    """The git folder of the repository to which `folder` belongs as a linked worktree.

    For any other folder, all methods do nothing.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._git: Path | None = None
        self._files: dict[str, _File] = {}
        self._folders: set[str] = set()
        self._protected: dict[str, int | None] = {}  # protected path → inode; None if the sandbox creates it
        self._trees = GitTrees()

    def keep(self) -> None:
        """Remember the contents of all files that git acts on, before a command."""
        folders = worktree_git_folders(self._folder)
        self._git = folders.common if folders else None
        if self._git is None:
            return
        with self._open() as broker:
            entries = list(self._walk(broker))
            self._files = dict(_read(broker, entries))
            self._folders = {entry.path for entry in entries if entry.kind == "folder"}
            heads = (entry.path for entry in entries if entry.kind == "file" and entry.path.endswith("/HEAD"))
            tops = {"", *(path.removesuffix("/HEAD") for path in heads)}  # git folders, also those of submodules
            self._protected = _protected_places(broker, tops)

    def revert(self) -> tuple[str, ...]:
        """Revert changes since `keep` that would make git run a program. Return the absolute paths of those files."""
        reverted: list[str] = []
        if self._git is None:
            return ()
        with self._open() as broker:
            for path, file in _read(broker, self._walk(broker)):
                before = self._files.get(path)
                if file == before or self._is_protected(broker, path):
                    continue
                modes = FileModes(before=before.mode if before else 0, after=file.mode)
                change = FileChange(path, before.body if before else None, file.body, modes)
                revert = required_git_revert(broker, path, change)
                if revert is None:
                    continue
                with contextlib.suppress(OSError):
                    if revert.contents is None:
                        forced_access.remove(broker.descriptor, path)
                        forced_access.remove_empty_folders(broker.descriptor, path, self._folders.__contains__)
                    else:
                        mode = before.mode if before else 0o644
                        forced_access.replace(broker.descriptor, path, revert.contents, mode)
                    reverted.append(str(self._git / path))
        return tuple(reverted)

    def _open(self) -> FileBroker:
        assert self._git
        return FileBroker(self._git)

    def _is_protected(self, broker: FileBroker, path: str) -> bool:
        """Return whether the sandbox has kept commands from changing a file, so that the user must have changed it.

        False if the file was replaced by a new one (another inode), which the sandbox does not protect.
        """
        place = next((place for place in self._protected if is_in_any(path, (place,))), "")
        status = broker.stat(place) if place else None
        return status is not None and self._protected[place] in (None, status.st_ino)

    def _walk(self, broker: FileBroker) -> Iterator[_Entry]:
        """Yield each file and folder in the git folder.

        In large folders such as `objects`, only subfolders that do not belong there are searched. Raise Problem if
        there are too many files.
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
                yield _Entry(path, kind)
                if kind != "folder":
                    continue
                if name in LARGE_IN_GIT and folder.rpartition("/")[2] not in SUBFOLDERS:
                    waiting += self._trees.foreign_folders(broker.folder, path, lambda _: False)
                else:
                    waiting.append(path)


def _protected_places(broker: FileBroker, git_folders: Iterable[str]) -> dict[str, int | None]:
    """Return the paths that the sandbox protects, with their inodes; None for hooks that do not exist yet."""
    places: dict[str, int | None] = {}
    for git_folder in git_folders:
        for parts in READ_ONLY_IN_GIT:
            place = "/".join(filter(None, (git_folder, *parts)))
            if status := broker.stat(place):
                places[place] = status.st_ino
            elif parts == ("hooks",):
                places[place] = None
    return places


def _read(broker: FileBroker, entries: Iterable[_Entry]) -> Iterator[tuple[str, _File]]:
    """Yield the path and contents of the entries that are files git acts on, symbolic links, or SAFE_MARK."""
    for path, kind in entries:
        is_head = path.rpartition("/")[2] == "HEAD" and "logs" not in path.split("/")
        is_mark = kind == "folder" and path == SAFE_MARK
        if is_mark or (kind == "link" and not is_head):
            yield path, _File(body=None, mode=0)
        elif kind not in ("folder", "link") and git_acts_on(f".git/{path}"):
            try:
                status = broker.stat(path)
                mode = stat.S_IMODE(status.st_mode) if status else 0o644
                yield path, _File(broker.read(path), mode)
            except Problem:
                yield path, _File(body=None, mode=0)
