"""Detects that another program replaced a file that the sandbox protects or hides from a running command.

The kernel drops a mount when a program outside the sandbox replaces the file under it, as editors and `git config` do;
no kind of mount on a single file prevents that. The command itself cannot replace the file, because inside the sandbox
it is a mount point. Git settings may be replaced with harmless ones, such as the remote branch of a pushed branch: then
they are watched until the command ends.
"""

import contextlib
import errno
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from core.domain.git_destinations import is_harmless_change
from core.domain.visible import visible_name
from core.workspace import forced_access
from core.workspace.inotify import Inotify
from core.workspace.regular_files import open_regular

UNPROTECTED = (
    "stopped, because another program replaced {} while the command ran, so the sandbox no longer protected it; "
    "run it again"
)
UNHIDDEN = (
    "stopped, because another program replaced {} while the command ran, so the sandbox no longer hid it; output since "
    "then is withheld, and files that the command wrote may contain it; run it again"
)
CONFIG = "config"  # the name of a git configuration
MAX_CONFIG = 1 << 20  # bytes
_PATH = forced_access.ENTER & ~getattr(os, "O_DIRECTORY", 0)
_mounted: dict[int, frozenset[tuple[int, int]]] = {}  # the inodes below the mounts of each running command


@dataclass(frozen=True, slots=True)
class WatchedMount:
    """A mount on a file or folder that programs outside the sandbox can replace.

    Attributes:
        path: the absolute path outside the sandbox, with links resolved.
        name: the path to display.
        inode: the device and inode of the file under the mount; None if bubblewrap will create the file.
        hides: whether the mount hides a secret, so that the command's output is withheld once the mount is lost.
    """

    path: str
    name: str
    inode: tuple[int, int] | None
    hides: bool = False


def is_mounted(status: os.stat_result) -> bool:
    """Return whether a running command has a mount on this file, which is lost if the file is replaced."""
    return any((status.st_dev, status.st_ino) in inodes for inodes in list(_mounted.values()))


class MountWatch:
    """A watch over the mounts of one command, from before its start until `stop`.

    `reason` is the first reason to end the command, or "".
    """

    def __init__(self, mounts: Iterable[WatchedMount]) -> None:
        """Open the parent folders of the mounts, because a command may rename such a folder with the mounts in it."""
        self.reason = ""
        self._shows_secret = False
        self._on_lost: Callable[[str], None] | None = None
        self._folders: dict[str, int] = {}  # open parent folders, by path
        self._held: list[int] = []  # open mounted files, so that their inodes are not reused
        self._mounts: list[tuple[int, str, WatchedMount]] = []  # each with its open parent folder and its name in it
        self._configs: dict[str, str] = {}  # the contents of git configurations before the command, by path
        self._named: dict[tuple[int, str], WatchedMount] = {}  # by inotify watch of the parent folder, and name in it
        self._created: set[str] = set()  # paths whose creation by bubblewrap was seen
        self._inotify: Inotify | None = None
        for mount in mounts:
            folder, _, leaf = mount.path.rpartition("/")
            with contextlib.suppress(OSError):  # a folder that has been removed has no mounts
                if folder not in self._folders:
                    self._folders[folder] = os.open(folder, forced_access.ENTER)
                self._mounts.append((self._folders[folder], leaf, mount))
                if leaf == CONFIG and os.access("HEAD", os.F_OK, dir_fd=self._folders[folder]):
                    self._configs[mount.path] = _read(self._folders[folder], leaf, mount.inode)
        if self._mounts:
            _mounted[id(self)] = frozenset(mount.inode for _, _, mount in self._mounts if mount.inode)
        is_watched = False
        with contextlib.suppress(OSError):  # without inotify, the periodic `check` must suffice
            if self._mounts:
                self._inotify = Inotify(self._handle)
                self._add_watches(self._inotify)
                is_watched = True
        for descriptor, leaf, mount in self._mounts:
            # A file that is deleted and created again can get the same inode, so that only inotify shows the change.
            if mount.hides or not is_watched:
                with contextlib.suppress(OSError):
                    self._held.append(os.open(leaf, _PATH, dir_fd=descriptor))

    def _add_watches(self, inotify: Inotify) -> None:
        configs = {descriptor for descriptor, _, mount in self._mounts if mount.path in self._configs}
        for descriptor, leaf, mount in self._mounts:
            self._named[inotify.add(descriptor, contents=descriptor in configs), leaf] = mount

    def start(self, on_lost: Callable[[str], None]) -> None:
        """Set the callback for a lost mount, and check all mounts once.

        `on_lost` is called once with the reason, in the thread that detected the loss.
        """
        self._on_lost = on_lost
        self.check()

    def watch_until_exit(self, pid: int) -> None:
        """Report lost mounts until a process, which must not be reaped yet, exits; return at once without inotify."""
        if self._inotify is None:
            return
        with contextlib.suppress(OSError):  # without pidfd_open, too, the periodic `check` must suffice
            process = os.pidfd_open(pid)
            try:
                self._inotify.report_until(process)
            finally:
                os.close(process)

    def stop(self) -> None:
        """End the watch and close all descriptors. Call it after the process has exited."""
        _mounted.pop(id(self), None)
        self._mounts = []
        for descriptor in (*self._folders.values(), *self._held):
            os.close(descriptor)
        self._folders, self._held = {}, []
        if self._inotify:
            self._inotify.close()
            self._inotify = None

    def check(self) -> None:
        """Check whether any mounted file has been replaced."""
        for folder, leaf, mount in self._mounts:
            self._compare(folder, leaf, mount)

    def shows_secret(self) -> bool:
        """Return whether output that was just read may contain a secret, because the mount that hid it is lost."""
        for folder, leaf, mount in self._mounts:
            if mount.hides:
                self._compare(folder, leaf, mount)
        return self._shows_secret

    def _compare(self, folder: int, leaf: str, mount: WatchedMount) -> None:
        with contextlib.suppress(OSError):  # a removed file needs no protection until it is created again
            status = os.lstat(leaf, dir_fd=folder)
            if mount.inode and _inode(status) != mount.inode and not self._is_harmless(folder, leaf, mount, status):
                self._lose(mount)

    def _is_harmless(self, folder: int, leaf: str, mount: WatchedMount, status: os.stat_result) -> bool:
        """Return whether a file is a git configuration in which nothing but harmless settings have changed."""
        former = self._configs.get(mount.path)
        try:
            return former is not None and is_harmless_change(_read(folder, leaf, _inode(status)), former)
        except OSError:
            return False

    def _handle(self, number: int, name: str) -> None:
        mount = self._named.get((number, name))
        if number < 0 or (mount and mount.path in self._configs):
            self.check()
        elif mount:
            if mount.inode or mount.path in self._created:
                self._lose(mount)
            self._created.add(mount.path)

    def _lose(self, mount: WatchedMount) -> None:
        is_first = not self.reason
        if mount.hides and not self._shows_secret:
            self._shows_secret = True
            self.reason = UNHIDDEN.format(visible_name(mount.name))
        self.reason = self.reason or UNPROTECTED.format(visible_name(mount.name))
        if is_first and self._on_lost:
            self._on_lost(self.reason)


def _inode(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _read(folder: int, leaf: str, inode: tuple[int, int] | None) -> str:
    """Return the text of the file with this inode; raise OSError if there is another one, or if it is too large."""
    with open(open_regular(leaf, follow=False, folder=folder), "rb") as file:  # noqa: PTH123 - a descriptor
        body = file.read(MAX_CONFIG + 1)
        if _inode(os.fstat(file.fileno())) != inode or len(body) > MAX_CONFIG:
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), leaf)
    return body.decode("utf-8", "replace")
