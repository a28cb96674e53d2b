"""Notices at once that a command changes what git acts on in a git folder, on Linux.

A file `commondir` is reverted here, and so is a link that leads to one: git reads the settings of the repository that
the file names, and runs the programs in them. In the git folder of a repository there is none. A mount cannot block the
file: its mount point would be a real file, which breaks every git outside the sandbox. In the git folder of each linked
worktree there is one, which commands need to remove a worktree. Other changes, such as to `config` and hooks, are
reported, because whether to revert them depends on their contents.
"""

import contextlib
import os
import stat
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum, auto
from pathlib import Path

from core.workspace import forced_access
from core.workspace.inotify import Inotify
from core.workspace.regular_files import open_regular
from core.workspace.trusted_places import COMMONDIR, CONFIG_FILES, REMOTE_FOLDERS

# Folders in a git folder whose files git acts on.
SETTINGS_FOLDERS = frozenset({"hooks", "info", *REMOTE_FOLDERS})
WORKTREES = "worktrees"  # the folder in a git folder with one for each linked worktree
_WATCHED_FOLDERS = (WORKTREES, *sorted(SETTINGS_FOLDERS))
# What git writes for a linked worktree. It creates the file empty first, and then reads no settings.
_OF_WORKTREES = (b"", b"../..")
MAX_WATCHED = 200  # folders; each one stays open, and a command can create any number
_READ_BYTES = 4096


class _Kind(Enum):
    TOP = auto()  # the folder with the git folder `.git`
    REPOSITORY = auto()  # the git folder of a repository or submodule
    SETTINGS = auto()  # one of SETTINGS_FOLDERS
    WORKTREES = auto()  # the folder in it that contains those of its linked worktrees
    WORKTREE = auto()  # the git folder of one linked worktree


@dataclass(frozen=True, slots=True)
class _Folder:
    """A watched folder: its path as it is displayed, its descriptor, and its `commondir` before the command."""

    path: str
    kind: _Kind
    descriptor: int
    original: bytes | None = None


class GitSettingsWatch:
    """A watch over git folders and those of their linked worktrees, until `stop`.

    `is_approved` returns whether a new `commondir` may stay, `on_redirected` is called after one was reverted, and
    `on_changed` after another file that git may act on has changed. All are called in the thread of the watch, with the
    path of the file relative to `root`.
    """

    def __init__(
        self,
        root: Path,
        folders: Iterable[str],
        is_approved: Callable[[str], bool],
        on_redirected: Callable[[str], None],
        on_changed: Callable[[str], None],
    ) -> None:
        self._root = root
        self._is_approved = is_approved
        self._on_redirected = on_redirected
        self._on_changed = on_changed
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
        self._add(".", _Kind.TOP, is_new=False)
        for folder in places:
            self._add(folder, _Kind.REPOSITORY, is_new=False)
        self._thread = threading.Thread(
            target=self._inotify.report_until, args=(self._stop_read,), name="git settings watch", daemon=True
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
                watch = self._inotify.add(descriptor, contents=kind is not _Kind.TOP)
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
        """Watch the folders in a folder that matter, and check what appeared in it before the watch began."""
        if folder.kind in (_Kind.REPOSITORY, _Kind.WORKTREE):
            self._check_commondir(folder)
        if folder.kind is _Kind.REPOSITORY:
            for name in _WATCHED_FOLDERS:
                self._add_inner(folder, name, is_new=is_new)
        if folder.kind is _Kind.WORKTREES:
            for name in _names(folder.descriptor):
                self._add_inner(folder, name, is_new=is_new)
        elif is_new:
            for name in _names(folder.descriptor):
                if _is_setting(folder, name):
                    self._on_changed(f"{folder.path}/{name}")

    def _handle(self, watch: int, name: str) -> None:
        if watch < 0:
            for folder in list(self._folders.values()):
                self._examine(folder, is_new=True)
            return
        folder = self._folders[watch]
        if folder.kind is _Kind.TOP:
            if name == ".git":
                self._on_changed(name)
        elif name == COMMONDIR and folder.kind in (_Kind.REPOSITORY, _Kind.WORKTREE):
            self._check_commondir(folder)
        elif folder.kind is _Kind.WORKTREES or (folder.kind is _Kind.REPOSITORY and name in _WATCHED_FOLDERS):
            self._add_inner(folder, name, is_new=True)
        elif _is_setting(folder, name):
            self._on_changed(f"{folder.path}/{name}")

    def _add_inner(self, folder: _Folder, name: str, *, is_new: bool) -> None:
        """Watch a folder in a watched folder. A new link in its place is removed, or reported if it is not removed."""
        path = f"{folder.path}/{name}"
        if is_new and _is_link(folder.descriptor, name):
            if name in SETTINGS_FOLDERS and folder.kind is _Kind.REPOSITORY:
                self._on_changed(path)
            elif not self._is_approved(path):
                with contextlib.suppress(OSError):
                    forced_access.remove(folder.descriptor, name)
                    self._on_redirected(path)
        elif folder.kind is _Kind.WORKTREES:
            self._add(path, _Kind.WORKTREE, is_new=is_new)
        else:
            self._add(path, _Kind.WORKTREES if name == WORKTREES else _Kind.SETTINGS, is_new=is_new)

    def _check_commondir(self, folder: _Folder) -> None:
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
            self._on_redirected(path)


def _is_setting(folder: _Folder, name: str) -> bool:
    """Return whether git acts on a file with this name in a folder."""
    return folder.kind is _Kind.SETTINGS or (folder.kind is not _Kind.TOP and name in CONFIG_FILES)


def _is_link(folder: int, name: str) -> bool:
    with contextlib.suppress(OSError):
        return stat.S_ISLNK(os.lstat(name, dir_fd=folder).st_mode)
    return False


def _names(folder: int) -> list[str]:
    with contextlib.suppress(OSError):
        return os.listdir(f"/proc/self/fd/{folder}")  # noqa: PTH208 - only the names are needed
    return []


def _read(folder: int) -> bytes | None:
    """Return the start of the `commondir` in an open folder; None unless it is a regular file."""
    with contextlib.suppress(OSError), open(open_regular(COMMONDIR, follow=False, folder=folder), "rb") as file:  # noqa: PTH123 - a descriptor
        return file.read(_READ_BYTES)
    return None
