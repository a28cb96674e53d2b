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
from typing import NamedTuple

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
MAX_HELD = 200  # most mounted files to keep open if there is inotify; the number of open files is limited
_PATH = forced_access.ENTER & ~getattr(os, "O_DIRECTORY", 0)


class FileIdentity(NamedTuple):
    """What tells a file from every other one that exists at the same time."""

    device: int
    inode: int


def identity_of(status: os.stat_result) -> FileIdentity:
    return FileIdentity(device=status.st_dev, inode=status.st_ino)


_mounted: dict[int, frozenset[FileIdentity]] = {}  # the files below the mounts of each running command


@dataclass(frozen=True, slots=True)
class WatchedMount:
    """A mount on a file or folder that programs outside the sandbox can replace.

    Attributes:
        path: the absolute path outside the sandbox, with links resolved.
        name: the path to display.
        identity: that of the file under the mount; None if bubblewrap will create the file.
        hides: whether the mount hides a secret, so that the command's output is withheld once the mount is lost.
    """

    path: str
    name: str
    identity: FileIdentity | None
    hides: bool = False


class _OpenMount(NamedTuple):
    """A mount, with the descriptor of its parent folder and its name in that folder."""

    folder: int
    leaf: str
    mount: WatchedMount


def is_mounted(status: os.stat_result) -> bool:
    """Return whether a running command has a mount on this file, which is lost if the file is replaced."""
    return any(identity_of(status) in identities for identities in list(_mounted.values()))


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
        self._mounts: list[_OpenMount] = []
        self._configs: dict[str, str] = {}  # the contents of git configurations before the command, by path
        self._named: dict[tuple[int, str], WatchedMount] = {}  # by inotify watch of the parent folder, and name in it
        self._created: set[str] = set()  # paths whose creation by bubblewrap was seen
        self._inotify: Inotify | None = None
        for mount in mounts:
            with contextlib.suppress(OSError):  # a folder that has been removed has no mounts
                self._open(mount)
        if self._mounts:
            _mounted[id(self)] = frozenset(mount.identity for _, _, mount in self._mounts if mount.identity)
            has_inotify = self._watch_folders()
            self._hold_files(all_files=not has_inotify or len(self._mounts) <= MAX_HELD)

    def _open(self, mount: WatchedMount) -> None:
        path, _, leaf = mount.path.rpartition("/")
        if path not in self._folders:
            self._folders[path] = os.open(path, forced_access.ENTER)
        folder = self._folders[path]
        self._mounts.append(_OpenMount(folder, leaf, mount))
        if leaf == CONFIG and os.access("HEAD", os.F_OK, dir_fd=folder):
            self._configs[mount.path] = _read(folder, leaf, mount.identity)

    def _watch_folders(self) -> bool:
        """Watch the parent folders; return False without inotify, when the periodic `check` must suffice."""
        with_configs = {folder for folder, _, mount in self._mounts if mount.path in self._configs}
        try:
            self._inotify = inotify = Inotify(self._handle)
            for folder, leaf, mount in self._mounts:
                self._named[inotify.add(folder, contents=folder in with_configs), leaf] = mount
        except OSError:
            return False
        return True

    def _hold_files(self, *, all_files: bool) -> None:
        """Keep the hidden files and git configurations open, or all files, so that their inodes are not reused.

        A file that is deleted and created again can get the same inode, and then only inotify shows the change, unless
        the kernel drops the event. That is not enough for a configuration, which may be replaced with a harmless one
        and then by the command.
        """
        for folder, leaf, mount in self._mounts:
            if mount.hides or all_files or mount.path in self._configs:
                with contextlib.suppress(OSError):
                    self._held.append(os.open(leaf, _PATH, dir_fd=folder))

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
        for opened in self._mounts:
            self._compare(opened)

    def shows_secret(self) -> bool:
        """Return whether output that was just read may contain a secret, because the mount that hid it is lost."""
        for opened in self._mounts:
            if opened.mount.hides:
                self._compare(opened)
        return self._shows_secret

    def _compare(self, opened: _OpenMount) -> None:
        """Report the mount as lost if the file under it has been replaced, unless only by harmless git settings."""
        folder, leaf, mount = opened
        with contextlib.suppress(OSError):  # a removed file needs no protection until it is created again
            present = identity_of(os.lstat(leaf, dir_fd=folder))
            if mount.identity and present != mount.identity and not self._is_harmless(opened, present):
                self._lose(mount)

    def _is_harmless(self, opened: _OpenMount, present: FileIdentity) -> bool:
        """Return whether the present file is a git configuration in which only harmless settings have changed."""
        former = self._configs.get(opened.mount.path)
        try:
            return former is not None and is_harmless_change(_read(opened.folder, opened.leaf, present), former)
        except OSError:
            return False

    def _handle(self, number: int, name: str) -> None:
        mount = self._named.get((number, name))
        if number < 0 or (mount and mount.path in self._configs):
            self.check()
        elif mount:
            if mount.identity or mount.path in self._created:
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


def _read(folder: int, leaf: str, identity: FileIdentity | None) -> str:
    """Return the text of the file with this identity; raise OSError if there is another one, or if it is too large."""
    with open(open_regular(leaf, follow=False, folder=folder), "rb") as file:  # noqa: PTH123 - a descriptor
        body = file.read(MAX_CONFIG + 1)
        if identity_of(os.fstat(file.fileno())) != identity or len(body) > MAX_CONFIG:
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), leaf)
    return body.decode("utf-8", "replace")
