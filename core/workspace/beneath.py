"""Opens files strictly beneath a folder, safe against links and races: with openat2, or else component by component."""

import ctypes
import errno
import functools
import os
import sys

_SYS_OPENAT2 = 437  # the same on all Linux architectures
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_BENEATH = 0x08
_TRIES = 64  # retries: the kernel returns EAGAIN while a folder in the path is being renamed


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def openat2(root: int, name: str, flags: int, mode: int = 0) -> int:
    """Open a path with the system call openat2 and return the descriptor.

    The kernel refuses paths that leave `root` with EXDEV, and magic links of /proc with ELOOP.
    """
    how = _How(flags | os.O_CLOEXEC, mode, _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS)
    path, size = os.fsencode(name), ctypes.c_size_t(ctypes.sizeof(how))
    for _ in range(_TRIES):
        descriptor = _libc().syscall(ctypes.c_long(_SYS_OPENAT2), ctypes.c_int(root), path, ctypes.byref(how), size)
        if descriptor >= 0:
            return int(descriptor)
        if (fault := ctypes.get_errno()) not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(fault, os.strerror(fault), name)


def open_by_walking(root: int, name: str, flags: int, mode: int = 0) -> int:
    """Open a file beneath `root` without openat2: component by component, without links and without leaving `root`."""
    if name.startswith("/"):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), name)
    descriptors = [os.dup(root)]
    flags |= os.O_NOFOLLOW | os.O_CLOEXEC
    parts = [part for part in name.split("/") if part not in ("", ".")]
    try:
        for part in parts[:-1]:
            _step(descriptors, part, _FOLDER, 0)
        _step(descriptors, parts[-1] if parts else ".", flags, mode)
        return descriptors.pop()
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def open_folder(path: str) -> int:
    """Open a folder by its absolute path; raise OSError if a component of the path is a link."""
    top = os.open("/", os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        return open_by_walking(top, path.lstrip("/") or ".", os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    finally:
        os.close(top)


_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)


def _step(descriptors: list[int], part: str, flags: int, mode: int) -> None:
    if part == "..":
        os.close(descriptors.pop())
        if not descriptors:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), part)
        part = "."  # reopened, because the last component needs the requested flags, even if it is `..`
    descriptors.append(os.open(part, flags | getattr(os, "O_CLOEXEC", 0), mode, dir_fd=descriptors[-1]))
    if part == ".":
        os.close(descriptors.pop(-2))


@functools.cache
def has_openat2() -> bool:
    """Return whether openat2 works here: an old kernel lacks the call, and a seccomp filter may refuse it."""
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


def path_of_descriptor(descriptor: int) -> str:
    """Return the current path of an open file."""
    if sys.platform == "darwin":
        import fcntl

        answer = fcntl.fcntl(descriptor, 50, b"\0" * 1024)  # 50 is F_GETPATH
        return os.fsdecode(answer.rstrip(b"\0"))
    return os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115 - a Path takes ten times as long, in every call
