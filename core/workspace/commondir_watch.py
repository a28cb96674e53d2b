"""Reverts a file `commondir` in a git folder at the moment a command writes it, on Linux.

Git reads the settings of the repository that this file names, and runs the programs in them. In the git folder of a
repository there is none. A mount cannot block the file: its mount point would be a real file, which breaks every git
outside the sandbox. In the git folder of each linked worktree there is one, which commands need to remove a worktree.
"""

import contextlib
import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum, auto
from pathlib import Path

from core.workspace import forced_access
from core.workspace.inotify import Inotify
from core.workspace.regular_files import open_regular
from core.workspace.trusted_places import COMMONDIR

WORKTREES = "worktrees"  # the folder in a git folder with one for each linked worktree
# What git writes for a linked worktree. It creates the file empty first, and then reads no settings.
_OF_WORKTREES = (b"", b"../..")
MAX_WATCHED = 200  # folders; each one stays open, and a command can create any number
_READ_BYTES = 4096


class _Kind(Enum):
    REPOSITORY = auto()  # the git folder of a repository or submodule
    WORKTREES = auto()  # the folder in it that contains those of its linked worktrees
    WORKTREE = auto()  # the git folder of one linked worktree


@dataclass(frozen=True, slots=True)
class _Folder:
    """A watched folder: its path as it is displayed, its descriptor, and its `commondir` before the command."""

    path: str
    kind: _Kind
    descriptor: int
    original: bytes | None = None


class CommondirWatch:
    """A watch over git folders and those of their linked worktrees, until `stop`.

    `is_approved` returns whether a new file may stay, and `on_reverted` is called after a file was reverted. Both are
    called in the thread of the watch, with the path of the file relative to `root`.
    """

    def __init__(
        self,
        root: Path,
        folders: Iterable[str],
        is_approved: Callable[[str], bool],
        on_reverted: Callable[[str], None],
    ) -> None:
        self._root = root
        self._is_approved = is_approved
        self._on_reverted = on_reverted
        self._folders: dict[int, _Folder] = {}  # by the number of the watch
        self._thread: threading.Thread | None = None
        places = [folder for folder in folders if not os.path.lexists(root / folder / COMMONDIR)]
        if not places:
            return
        try:
            self._inotify = Inotify(self._handle)
        except OSError:
            return  # without inotify, the scan after the command finds the file
        self._stop_read, self._stop_end = os.pipe()
        for folder in places:
            self._add(folder, _Kind.REPOSITORY, is_new=False)
        self._thread = threading.Thread(
            target=self._inotify.report_until, args=(self._stop_read,), name="commondir watch", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread of the watch and close its descriptors."""
        if self._thread is None:
            return
        os.close(self._stop_end)
        self._thread.join()
        self._thread = None
        self._inotify.close()
        for descriptor in (self._stop_read, *(folder.descriptor for folder in self._folders.values())):
            os.close(descriptor)

    def _add(self, path: str, kind: _Kind, *, is_new: bool) -> None:
        """Watch a folder and those in it that matter, and check what is there.

        A folder that `is_new` appeared while the command ran, so its contents are not those from before.
        """
        if len(self._folders) >= MAX_WATCHED:
            return
        with contextlib.suppress(OSError):
            descriptor = os.open(self._root / path, forced_access.ENTER)
            try:
                watch = self._inotify.add(descriptor, contents=kind is _Kind.WORKTREE)
            except OSError:
                os.close(descriptor)
                return
            if known := self._folders.get(watch):  # it was renamed
                os.close(descriptor)
                self._folders[watch] = replace(known, path=path)
            else:
                original = _read(descriptor) if kind is _Kind.WORKTREE and not is_new else None
                self._folders[watch] = _Folder(path, kind, descriptor, original)
            self._examine(self._folders[watch], is_new=is_new)

    def _examine(self, folder: _Folder, *, is_new: bool) -> None:
        if folder.kind is not _Kind.WORKTREES:
            self._check(folder)
        if folder.kind is _Kind.REPOSITORY:
            self._add(f"{folder.path}/{WORKTREES}", _Kind.WORKTREES, is_new=is_new)
        if folder.kind is _Kind.WORKTREES:
            with contextlib.suppress(OSError):
                for name in os.listdir(f"/proc/self/fd/{folder.descriptor}"):  # noqa: PTH208 - only the names are needed
                    self._add(f"{folder.path}/{name}", _Kind.WORKTREE, is_new=is_new)

    def _handle(self, watch: int, name: str) -> None:
        if watch < 0:
            for folder in list(self._folders.values()):
                self._examine(folder, is_new=True)
            return
        folder = self._folders[watch]
        if folder.kind is _Kind.WORKTREES:
            self._add(f"{folder.path}/{name}", _Kind.WORKTREE, is_new=True)
        elif name == COMMONDIR:
            self._check(folder)
        elif name == WORKTREES and folder.kind is _Kind.REPOSITORY:
            self._add(f"{folder.path}/{name}", _Kind.WORKTREES, is_new=True)

    def _check(self, folder: _Folder) -> None:
        """Revert the `commondir` of a folder unless it is as it was, or as git writes it."""
        path = f"{folder.path}/{COMMONDIR}"
        with contextlib.suppress(OSError):
            os.lstat(COMMONDIR, dir_fd=folder.descriptor)
            body = _read(folder.descriptor) if folder.kind is _Kind.WORKTREE else None
            if body is not None and (body == folder.original or body.strip() in _OF_WORKTREES):
                return
            if self._is_approved(path):
                return
            if folder.original is None:
                forced_access.remove(folder.descriptor, COMMONDIR)
            else:
                forced_access.replace(folder.descriptor, COMMONDIR, folder.original, 0o644)
            self._on_reverted(path)


def _read(folder: int) -> bytes | None:
    """Return the start of the `commondir` in an open folder; None unless it is a regular file."""
    with contextlib.suppress(OSError), open(open_regular(COMMONDIR, follow=False, folder=folder), "rb") as file:  # noqa: PTH123 - a descriptor
        return file.read(_READ_BYTES)
    return None
