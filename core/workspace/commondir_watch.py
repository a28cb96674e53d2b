"""Removes the file `commondir` from a git folder in the moment in which a command creates it, on Linux.

Git reads the settings of the repository that this file names, and runs the programs in them. No mount can stand in for
the file: its mount point would be a real file, which breaks every git outside the sandbox.
"""

import contextlib
import ctypes
import functools
import os
import select
import struct
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from core.workspace import forced_access
from core.workspace.trusted_places import COMMONDIR

_ADDED = 0x00000100 | 0x00000080  # IN_CREATE and IN_MOVED_TO
_ONLY_FOLDERS, _NO_LINKS = 0x01000000, 0x02000000  # IN_ONLYDIR and IN_DONT_FOLLOW
_EVENT = struct.Struct("iIII")  # watch, mask, cookie, and the size of the name that follows
_READ_BYTES = 64 << 10


class CommondirWatch:
    """A watch over git folders without a `commondir`, until `stop`.

    Files that `is_approved` stay. `on_removed` is called with the path of each removed one. Both are called in the
    thread of the watch; a path is that of the folder, as it was given, with the name of the file.
    """

    def __init__(
        self,
        root: Path,
        folders: Iterable[str],
        is_approved: Callable[[str], bool],
        on_removed: Callable[[str], None],
    ) -> None:
        self._is_approved = is_approved
        self._on_removed = on_removed
        self._folders: dict[int, tuple[str, int]] = {}  # path and descriptor, by watch
        self._inotify = self._stop_end = self._stop_read = -1
        self._thread: threading.Thread | None = None
        if sys.platform != "linux":
            return
        places = [folder for folder in folders if not os.path.lexists(root / folder / COMMONDIR)]
        if not places or (inotify := _libc().inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)) < 0:
            return  # the scans of the folder find the file, too
        self._inotify = inotify
        self._stop_read, self._stop_end = os.pipe()
        for folder in places:
            self._add(root, folder)
        self._thread = threading.Thread(target=self._watch, name="commondir watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the watch."""
        if self._thread is None:
            return
        os.close(self._stop_end)
        self._thread.join()
        self._thread = None
        for descriptor in (self._inotify, self._stop_read, *(each for _, each in self._folders.values())):
            os.close(descriptor)

    def _add(self, root: Path, folder: str) -> None:
        with contextlib.suppress(OSError):
            descriptor = os.open(root / folder, forced_access.ENTER)
            path = f"/proc/self/fd/{descriptor}/.".encode()  # the open folder, whatever its name leads to by now
            watch = _libc().inotify_add_watch(self._inotify, path, _ADDED | _ONLY_FOLDERS | _NO_LINKS)
            if watch < 0:
                os.close(descriptor)
                return
            self._folders[watch] = (folder, descriptor)
            self._remove(watch)  # created since it was looked for

    def _watch(self) -> None:
        poll = select.poll()
        for descriptor in (self._inotify, self._stop_read):
            poll.register(descriptor, select.POLLIN)
        while self._stop_read not in (ready := dict(poll.poll())):
            if self._inotify in ready:
                self._handle(os.read(self._inotify, _READ_BYTES))

    def _handle(self, events: bytes) -> None:
        offset = 0
        while offset < len(events):
            watch, _, _, size = _EVENT.unpack_from(events, offset)
            offset += _EVENT.size + size
            if events[offset - size : offset].rstrip(b"\0") == COMMONDIR.encode() or watch < 0:  # -1: events were lost
                for each in (watch,) if watch >= 0 else tuple(self._folders):
                    self._remove(each)

    def _remove(self, watch: int) -> None:
        folder, descriptor = self._folders[watch]
        path = f"{folder}/{COMMONDIR}"
        with contextlib.suppress(OSError):
            os.lstat(COMMONDIR, dir_fd=descriptor)
            if not self._is_approved(path):
                forced_access.remove(descriptor, COMMONDIR)
                self._on_removed(path)


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
