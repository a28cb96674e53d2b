"""Lists, removes and replaces files even if a command made them inaccessible by permissions, links or file flags.

Paths are followed component by component beneath an open folder, by descriptors and without links. Permissions are
changed only on files of this user.
"""

import contextlib
import functools
import os
import secrets
import shutil
import stat
import struct
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

if sys.platform != "win32":
    import fcntl

_FOLDER_FLAGS = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
ENTER = getattr(os, "O_PATH", os.O_RDONLY) | _FOLDER_FLAGS
_FILE = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FS_IOC_GETFLAGS = 0x80086601
_FS_IOC_SETFLAGS = 0x40086602
_FICLONE = 0x40049409
_FS_IMMUTABLE_FL = 0x10
_FS_APPEND_FL = 0x20
# Permission bits of the owner of a folder.
_USABLE = 0o700
_LISTABLE = 0o500
COPY_BYTES = 1 << 20  # bytes copied at a time
PRIVILEGES = stat.S_ISUID | stat.S_ISGID


class _TemporaryCopy(NamedTuple):
    """The name of a temporary file in a folder, and its descriptor for writing."""

    name: str
    descriptor: int


def reopen_folder(root: int, path: str) -> int | None:
    """Make a folder listable for its owner.

    Return its former permission bits, or None if it belongs to another user and was left unchanged. Raise OSError on
    failure.
    """
    if path == ".":
        return _reopen(root)
    with _open_parent(root, path) as (parent, leaf):
        folder = os.open(leaf, ENTER, dir_fd=parent)
        try:
            return _reopen(folder)
        finally:
            os.close(folder)


def _reopen(folder: int) -> int | None:
    status = os.fstat(folder)
    _grant(folder, status)
    return stat.S_IMODE(status.st_mode) if status.st_uid == os.geteuid() else None


def set_mode(root: int, path: str, mode: int) -> None:
    """Set the permission bits of a file or folder; do nothing for a link."""
    with _open_parent(root, path) as (parent, leaf):
        descriptor = os.open(leaf, ENTER & ~getattr(os, "O_DIRECTORY", 0), dir_fd=parent)
        try:
            if not stat.S_ISLNK(os.fstat(descriptor).st_mode):
                _chmod(descriptor, mode)
        finally:
            os.close(descriptor)


def remove(root: int, path: str) -> None:
    """Remove a file, link, or folder with its contents; do nothing if the path does not exist."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError), _open_parent(root, path) as (parent, leaf):
        _remove(parent, leaf)


def remove_empty_folders(root: int, path: str, is_kept: Callable[[str], bool]) -> None:
    """Remove the empty folders above a removed file, up to the first one that is not empty or that `is_kept`."""
    while (path := path.rpartition("/")[0]) and not is_kept(path):
        try:
            with _open_parent(root, path) as (parent, leaf):
                os.rmdir(leaf, dir_fd=parent)
        except OSError:
            return


def replace(root: int, path: str, body: bytes, mode: int, *, link: bool = False, durable: bool = True) -> None:
    """Replace whatever is at this path by a file, or with `link` by a symbolic link to `body`.

    Without `durable`, the file is not flushed to disk, so a power failure within seconds may lose it.
    """
    with _open_parent(root, path, make=True) as (parent, leaf):
        temporary = _temporary_name()
        _retry(parent, "", lambda: _create(parent, temporary, body, mode, link=link, durable=durable))
        _put(parent, temporary, leaf)


def copy(root: int, path: str, source: int, mode: int) -> None:
    """Replace whatever is at this path by a copy of the open file `source`."""
    with _open_parent(root, path, make=True) as (parent, leaf), _temporary_copy(parent, source) as temporary:
        os.fchmod(temporary.descriptor, mode)
        _put(parent, temporary.name, leaf)


def separate(root: int, path: str) -> None:
    """Replace a file that has several hard links by a copy with the same contents, times and permissions.

    Setuid and setgid bits are dropped. Files of other users are left unchanged.
    """
    with _open_parent(root, path) as (parent, leaf):
        source = os.open(leaf, _FILE, dir_fd=parent)
        try:
            status = os.fstat(source)
            if not stat.S_ISREG(status.st_mode) or status.st_nlink < 2 or status.st_uid != os.geteuid():
                return
            with _temporary_copy(parent, source) as temporary:
                os.fchmod(temporary.descriptor, stat.S_IMODE(status.st_mode) & ~PRIVILEGES)
                os.utime(temporary.descriptor, ns=(status.st_atime_ns, status.st_mtime_ns))
                _put(parent, temporary.name, leaf)
        finally:
            os.close(source)


def _temporary_name() -> str:
    return f".journeyman-{secrets.token_hex(8)}"


@contextlib.contextmanager
def _temporary_copy(parent: int, source: int) -> Iterator[_TemporaryCopy]:
    """Copy an open file to a temporary one in a folder; delete that after an error."""
    name = _temporary_name()
    _retry(parent, "", lambda: _create(parent, name, b"", 0o600, durable=False))
    descriptor = os.open(name, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        _copy_contents(source, descriptor)
        yield _TemporaryCopy(name, descriptor)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=parent)
        raise
    finally:
        os.close(descriptor)


def _copy_contents(source: int, target: int) -> None:
    """Copy the contents of an open file, sharing blocks on disk where the file system supports that."""
    try:
        fcntl.ioctl(target, _FICLONE, source)
    except OSError:
        with open(os.dup(source), "rb") as original, open(os.dup(target), "wb") as copied:  # noqa: PTH123 - descriptors
            original.seek(0)
            shutil.copyfileobj(original, copied, COPY_BYTES)


def _put(parent: int, temporary: str, leaf: str) -> None:
    """Rename a temporary file to `leaf`, replacing whatever is there; delete the temporary file on failure."""
    try:
        try:
            os.rename(temporary, leaf, src_dir_fd=parent, dst_dir_fd=parent)
        except OSError:  # the target is a folder, or immutable
            _remove(parent, leaf)
            os.rename(temporary, leaf, src_dir_fd=parent, dst_dir_fd=parent)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=parent)
        raise


def _create(parent: int, name: str, body: bytes, mode: int, *, link: bool = False, durable: bool = True) -> None:
    if link:
        os.symlink(body, os.fsencode(name), dir_fd=parent)
        return
    with os.fdopen(os.open(name, _NEW, 0o600, dir_fd=parent), "wb") as file:
        file.write(body)
        file.flush()
        os.fchmod(file.fileno(), mode)
        if durable:
            os.fsync(file.fileno())


@contextlib.contextmanager
def _open_parent(root: int, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """Open the parent folder of a path; yield its descriptor and the last component of the path.

    Missing permissions are granted meanwhile and withdrawn afterwards, unless the folder would become unlistable. With
    `make`, every component that is not a folder is replaced by one.
    """
    parts = [part for part in path.split("/") if part not in ("", ".")]
    *folders, leaf = parts or ["."]
    opened = [os.dup(root)]
    former_modes: dict[int, int] = {}  # of the folders whose permissions were changed, by descriptor
    try:
        _grant_and_note(opened[-1], former_modes)
        for part in folders:
            try:
                inner = os.open(part, ENTER, dir_fd=opened[-1])
            except OSError:
                if not make:
                    raise
                _remove(opened[-1], part)
                os.mkdir(part, dir_fd=opened[-1])
                inner = os.open(part, ENTER, dir_fd=opened[-1])
            opened.append(inner)
            _grant_and_note(inner, former_modes)
        yield opened[-1], leaf
    finally:
        for folder, mode in reversed(former_modes.items()):
            if mode & _LISTABLE == _LISTABLE:
                _chmod(folder, mode)
        for folder in opened:
            os.close(folder)


def _grant_and_note(folder: int, former_modes: dict[int, int]) -> None:
    status = os.fstat(folder)
    if _grant(folder, status):
        former_modes[folder] = stat.S_IMODE(status.st_mode)


def _grant(folder: int, status: os.stat_result) -> bool:
    """Give the owner all permissions on a folder of this user; return whether any was missing."""
    if status.st_uid != os.geteuid() or status.st_mode & _USABLE == _USABLE:
        return False
    _chmod(folder, stat.S_IMODE(status.st_mode) | _USABLE)
    return True


def _chmod(descriptor: int, mode: int) -> None:
    if sys.platform == "linux":
        os.chmod(f"/proc/self/fd/{descriptor}", mode)  # noqa: PTH101 - fchmod refuses descriptors that are only a path
    else:
        os.fchmod(descriptor, mode)


def _remove(parent: int, leaf: str) -> None:
    try:
        status = os.lstat(leaf, dir_fd=parent)
    except FileNotFoundError:
        return
    if stat.S_ISDIR(status.st_mode):
        _retry(parent, leaf, lambda: _remove_folder(parent, leaf))
    else:
        _retry(parent, leaf, lambda: os.unlink(leaf, dir_fd=parent))


def _remove_folder(parent: int, leaf: str) -> None:
    """Remove a folder and its contents.

    Nested folders are moved up before they are removed, because a command can nest thousands of them.
    """
    folder = _usable_folder(parent, leaf)
    try:
        while names := os.listdir(folder):  # noqa: PTH208 - a descriptor
            for name in names:
                if _is_folder(folder, name):
                    _move_contents_up(folder, name)
                    os.rmdir(name, dir_fd=folder)
                else:
                    _retry(folder, name, functools.partial(os.unlink, name, dir_fd=folder))
    finally:
        os.close(folder)
    os.rmdir(leaf, dir_fd=parent)


def _move_contents_up(parent: int, leaf: str) -> None:
    """Move everything in a folder to its parent folder, under random names."""
    folder = _usable_folder(parent, leaf)
    try:
        for name in os.listdir(folder):  # noqa: PTH208 - a descriptor
            if _is_folder(folder, name):
                os.close(_usable_folder(folder, name))  # the rename needs permissions on it
            os.rename(name, _temporary_name(), src_dir_fd=folder, dst_dir_fd=parent)
    finally:
        os.close(folder)


def _usable_folder(parent: int, leaf: str) -> int:
    """Open a folder for reading, after giving its owner all permissions and clearing flags such as immutable."""
    path_fd = os.open(leaf, ENTER, dir_fd=parent)
    try:
        _grant(path_fd, os.fstat(path_fd))
    finally:
        os.close(path_fd)
    folder = os.open(leaf, os.O_RDONLY | _FOLDER_FLAGS, dir_fd=parent)
    _clear_flags(folder)
    return folder


def _is_folder(parent: int, leaf: str) -> bool:
    return stat.S_ISDIR(os.lstat(leaf, dir_fd=parent).st_mode)


def _retry(parent: int, leaf: str, act: Callable[[], None]) -> None:
    """Call `act`; after a PermissionError, clear the flags of the file and of its folder and call it once more."""
    try:
        act()
    except PermissionError:
        for name in (".", leaf):
            with contextlib.suppress(OSError):
                descriptor = os.open(name, _FILE, dir_fd=parent)
                try:
                    _clear_flags(descriptor)
                finally:
                    os.close(descriptor)
        act()


def _clear_flags(descriptor: int) -> None:
    """Clear the flags immutable and append-only, which block even root."""
    if sys.platform != "linux":
        return
    with contextlib.suppress(OSError):  # the file system may not support flags
        (flags,) = struct.unpack("=l", fcntl.ioctl(descriptor, _FS_IOC_GETFLAGS, bytes(4)))
        if flags & (_FS_IMMUTABLE_FL | _FS_APPEND_FL):
            fcntl.ioctl(descriptor, _FS_IOC_SETFLAGS, struct.pack("=l", flags & ~(_FS_IMMUTABLE_FL | _FS_APPEND_FL)))
