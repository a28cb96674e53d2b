"""Reports new names in folders, and files whose contents change there, through the inotify interface of Linux."""

import ctypes
import functools
import os
import select
import struct
import sys
from collections.abc import Callable

_IN_MODIFY = 0x02
_IN_MOVED_TO = 0x80
_IN_CREATE = 0x100
_IN_ONLYDIR = 0x01000000
_IN_DONT_FOLLOW = 0x02000000
_EVENT = struct.Struct("iIII")  # watch, mask, cookie, and length of the name that follows
_READ_BYTES = 64 << 10


class Inotify:
    """A watch for new names in folders, until `close`.

    `on_name` is called with the number of a folder, from `add`, and the new name in it. If the kernel dropped events,
    the number is -1 and the name is "".
    """

    def __init__(self, on_name: Callable[[int, str], None]) -> None:
        """Raise OSError if the kernel has no inotify, or the user's limit of instances is reached."""
        self._on_name = on_name
        if sys.platform != "linux":
            raise OSError("There is no inotify.")
        self._inotify = _libc().inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if self._inotify < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    def add(self, folder: int, *, contents: bool = False) -> int:
        """Watch an open folder, even if its path now leads elsewhere, and return its number. Raise OSError on failure.

        With `contents`, also report files whose contents change in place.
        """
        path = f"/proc/self/fd/{folder}/.".encode()
        mask = _IN_CREATE | _IN_MOVED_TO | (_IN_MODIFY if contents else 0) | _IN_ONLYDIR | _IN_DONT_FOLLOW
        number = int(_libc().inotify_add_watch(self._inotify, path, mask))
        if number < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return number

    def report_until(self, end: int) -> None:
        """Report new names since the folders were added, until the descriptor `end` becomes readable or is closed."""
        poll = select.poll()
        for descriptor in (self._inotify, end):
            poll.register(descriptor, select.POLLIN)
        while end not in (ready := dict(poll.poll())):
            if self._inotify in ready:
                self._report(os.read(self._inotify, _READ_BYTES))

    def close(self) -> None:
        os.close(self._inotify)

    def _report(self, events: bytes) -> None:
        offset = 0
        while offset < len(events):
            number, _, _, size = _EVENT.unpack_from(events, offset)
            offset += _EVENT.size + size
            self._on_name(number, os.fsdecode(events[offset - size : offset].rstrip(b"\0")))


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
