"""Open what lies beneath a folder and nothing else, whatever links and races do: openat2, else a careful walk."""

import ctypes
import errno
import functools
import os
import sys

_OPENAT2 = 437  # the same number on every Linux machine
_NO_MAGIC_LINKS, _BENEATH = 0x02, 0x08
_TRIES = 64  # the kernel says "again" while somebody renames on the way


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def openat2(root: int, name: str, flags: int, mode: int = 0) -> int:
    """A descriptor; the kernel refuses with EXDEV what leads out of `root`, and with ELOOP the links of /proc."""
    how = _How(flags | os.O_CLOEXEC, mode, _BENEATH | _NO_MAGIC_LINKS)
    path, size = os.fsencode(name), ctypes.c_size_t(ctypes.sizeof(how))
    for _ in range(_TRIES):
        found = _libc().syscall(ctypes.c_long(_OPENAT2), ctypes.c_int(root), path, ctypes.byref(how), size)
        if found >= 0:
            return int(found)
        if (fault := ctypes.get_errno()) not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(fault, os.strerror(fault), name)


def walk(root: int, name: str, flags: int, mode: int = 0) -> int:
    """The same without openat2: one part after the other, no link followed, `..` only back along the way come."""
    if name.startswith("/"):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), name)
    way = [os.dup(root)]
    flags |= os.O_NOFOLLOW | os.O_CLOEXEC
    parts = [part for part in name.split("/") if part not in ("", ".")]
    try:
        for part in parts[:-1]:
            _step(way, part, _FOLDER, 0)
        _step(way, parts[-1] if parts else ".", flags, mode)
        return way.pop()
    finally:
        for descriptor in way:
            os.close(descriptor)


_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)


def _step(way: list[int], part: str, flags: int, mode: int) -> None:
    if part == "..":
        os.close(way.pop())
        if not way:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), part)
        part = "."  # what is last is opened as asked for, also where that is a folder come through
    way.append(os.open(part, flags | getattr(os, "O_CLOEXEC", 0), mode, dir_fd=way[-1]))
    if part == ".":
        os.close(way.pop(-2))


@functools.cache
def kernel_confines() -> bool:
    """Whether this kernel has openat2; a filter may say no to it as well."""
    if sys.platform != "linux":
        return False
    root = os.open("/", os.O_PATH | os.O_DIRECTORY)
    try:
        os.close(openat2(root, ".", os.O_PATH))
    except OSError:
        return False
    finally:
        os.close(root)
    return True


def place_of(descriptor: int) -> str:
    """Where the thing behind a descriptor lies now."""
    if sys.platform == "darwin":
        import fcntl

        answer = fcntl.fcntl(descriptor, 50, b"\0" * 1024)  # F_GETPATH
        return os.fsdecode(answer.rstrip(b"\0"))
    return os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115 - a Path takes ten times as long, at every call
