"""The file broker, through which tools access files: paths are opened relative to one descriptor of the workspace."""

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Literal, NamedTuple

from core.domain.problems import Problem
from core.domain.sensitive_paths import is_protected, is_secret
from core.workspace import beneath, own_writes
from core.workspace.mount_watch import identity_of, is_mounted
from core.workspace.paths import outside_folder, printable, relative_path

# Limits in bytes.
READ_LIMIT = 8 << 20
SMALL = 128 << 10
WRITE_LIMIT = 32 << 20

# Flags to open files with. O_NONBLOCK: opening a FIFO must not block.
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_PATH_ONLY = getattr(os, "O_PATH", os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_WRITE = os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_NEW = _WRITE | os.O_CREAT | os.O_EXCL
_IN_PLACE = _WRITE | getattr(os, "O_NONBLOCK", 0)

EntryKind = Literal["folder", "file", "link", "other"]


class FolderEntry(NamedTuple):
    """A name in a folder, and what it is; a link is not followed."""

    name: str
    kind: EntryKind


@dataclass(frozen=True, slots=True)
class ReplacedFile:
    """A file that a write replaced: its contents (None if there was none), number of hard links and permission bits."""

    before: bytes | None
    links: int = 1
    mode: int = 0


class FileBroker:
    """Reads, writes, removes and lists files beneath one folder, for one run.

    Its methods raise a Problem for paths that leave the folder, and for every file system error.
    """

    def __init__(self, folder: Path, *, without_openat2: bool = False) -> None:
        self.folder = folder
        self._real = Path(os.path.realpath(folder))
        self._open = beneath.openat2 if beneath.has_openat2() and not without_openat2 else beneath.open_by_walking
        self._root = os.open(self._real, _FOLDER)
        self._identity = identity_of(os.fstat(self._root))

    def __enter__(self) -> "FileBroker":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._root >= 0:
            os.close(self._root)
            self._root = -1

    @property
    def descriptor(self) -> int:
        """The descriptor of the workspace folder, which `close` closes; callers must not."""
        return self._root

    def read_link(self, name: str) -> bytes:
        """Return the target of a symbolic link exactly as stored."""
        with self._errors_as_problems(name), self._open_parent(name) as (folder, leaf):
            return os.readlink(os.fsencode(leaf), dir_fd=folder)

    def stat(self, name: str) -> os.stat_result | None:
        """Return the status of a path, without following a final link; None if it does not exist."""
        with self._errors_as_problems(name):
            try:
                with self._open_parent(name) as (folder, leaf):
                    return os.lstat(leaf, dir_fd=folder) if leaf else os.fstat(folder)
            except FileNotFoundError:
                return None

    def read(self, name: str, limit: int = READ_LIMIT, *, allow_secrets: bool = True) -> bytes:
        """Return the contents of a regular file.

        Raise a Problem if it is larger than `limit` bytes, or if it contains secrets and `allow_secrets` is False.
        """
        with self._open_to_read(name, allow_secrets) as descriptor:
            return _contents(descriptor, name, limit)

    def read_small(self, name: str, *, allow_secrets: bool = True) -> bytes | None:
        """Like `read`, but return None if the file is so large that it should be read in a thread."""
        with self._open_to_read(name, allow_secrets) as descriptor:
            return _contents(descriptor, name, READ_LIMIT) if os.fstat(descriptor).st_size <= SMALL else None

    @contextlib.contextmanager
    def open_file(self, name: str, *, allow_secrets: bool = True) -> Iterator[BufferedReader]:
        """Open a regular file of any size and yield it, for callers that read a part of it."""
        with self._open_to_read(name, allow_secrets) as descriptor:
            _require_regular(os.fstat(descriptor), name)
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                yield file

    @contextlib.contextmanager
    def _open_to_read(self, name: str, allow_secrets: bool) -> Iterator[int]:
        """Open a file for reading.

        Secrets are recognized by the real path of the open file, because a link could change between check and open.
        """
        with self._errors_as_problems(name, f"There is no file {printable(name)}."):
            descriptor = self._open(self._root, self._name(name), _READ)
            try:
                if not allow_secrets and is_secret(self._path_of(descriptor)):
                    raise Problem(f"{printable(name)} contains secrets.", "", "The user can open it; an agent cannot.")
                yield descriptor
            finally:
                os.close(descriptor)

    def write(self, name: str, body: bytes, *, allow_protected: bool = False, mode: int = 0) -> ReplacedFile:
        """Replace the contents of a file, following a final link; create missing folders.

        The file is replaced atomically, unless that would end a running command: see `_overwrite`.

        `allow_protected`: the user approved a write to a protected file. `mode`: the new permission bits; 0 keeps the
        present ones.
        """
        if len(body) > WRITE_LIMIT:
            raise Problem(
                f"{printable(name)} would be too large.", f"It has {len(body):,} bytes; the limit is {WRITE_LIMIT:,}."
            )
        status = self.stat(name)
        if status and stat.S_ISLNK(status.st_mode):
            name = self.resolve(name)  # replace the target, not the link
        with (
            self._errors_as_problems(name),
            self._open_parent(name, make=True, protected=allow_protected) as (folder, leaf),
        ):
            if not leaf:
                raise Problem(f"{printable(name)} is a folder.", "", "Use a file.")
            with own_writes.noted(f"{beneath.path_of_descriptor(folder)}/{leaf}", body):
                return _write(folder, leaf, body, mode, name)

    def write_link(self, name: str, target: bytes, *, allow_protected: bool = False) -> None:
        """Create a symbolic link where nothing is; create missing folders. The target may be anything."""
        with (
            self._errors_as_problems(name),
            self._open_parent(name, make=True, protected=allow_protected) as (folder, leaf),
        ):
            os.symlink(target, os.fsencode(leaf), dir_fd=folder)

    def remove(self, name: str, *, allow_protected: bool = False) -> None:
        """Remove a file or a link. Folders are refused."""
        missing = f"There is no file {printable(name)}."
        with (
            self._errors_as_problems(name, missing),
            self._open_parent(name, protected=allow_protected, change=True) as (folder, leaf),
        ):
            if not leaf:
                raise Problem(f"{printable(name)} is a folder.", "", "Use a file.")
            with own_writes.noted(f"{beneath.path_of_descriptor(folder)}/{leaf}", None):
                os.unlink(leaf, dir_fd=folder)

    def mode(self, name: str) -> int:
        """Return the permission bits of a regular file, or 0 if the path is not a regular file."""
        status = self.stat(name)
        return stat.S_IMODE(status.st_mode) & 0o777 if status and stat.S_ISREG(status.st_mode) else 0

    def entries(self, name: str = ".") -> list[FolderEntry]:
        """Return the entries of a folder, sorted by name."""
        with self._errors_as_problems(name, f"There is no folder {printable(name)}."):
            descriptor = self._open(self._root, self._name(name), _FOLDER)
            try:
                with os.scandir(descriptor) as entries:
                    return sorted(FolderEntry(entry.name, _kind(entry)) for entry in entries)
            finally:
                os.close(descriptor)

    @contextlib.contextmanager
    def open_folder(self, name: str = ".") -> Iterator[int]:
        """Open a folder and yield its descriptor, for callers that read many files in it."""
        with self._errors_as_problems(name, f"There is no folder {printable(name)}."):
            descriptor = self._open(self._root, self._name(name), _FOLDER)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def is_protected(self, name: str) -> bool:
        """Return whether a write to this path needs approval, with links and alternative spellings resolved."""
        return is_protected(self.resolve(name))

    def resolve(self, name: str) -> str:
        """Return the path relative to the workspace with links resolved; missing final components stay as they are."""
        relative_name = self._name(name)
        with contextlib.suppress(OSError):
            return self._real_of(self._open(self._root, relative_name, _PATH_ONLY))
        parts = PurePosixPath(relative_name).parts
        for count in range(len(parts) - 1, -1, -1):
            try:
                ancestor = self._real_of(self._open(self._root, "/".join(parts[:count]) or ".", _FOLDER))
            except FileNotFoundError:
                continue
            except OSError as error:
                raise self._as_problem(error, name) from error
            return str(PurePosixPath(ancestor, *parts[count:]))
        return relative_name

    def _real_of(self, descriptor: int) -> str:
        """Return the path of an open file relative to the workspace, and close the descriptor."""
        try:
            return self._path_of(descriptor)
        finally:
            os.close(descriptor)

    def _path_of(self, descriptor: int) -> str:
        path, root = beneath.path_of_descriptor(descriptor), beneath.path_of_descriptor(self._root)
        is_inside = path.startswith(root.rstrip("/") + "/")
        return path[len(root.rstrip("/")) + 1 :] if is_inside else os.path.relpath(path, root)

    def _name(self, name: str) -> str:
        self.check_identity()
        return relative_path(name, self.folder)

    def check_identity(self) -> None:
        """Raise a Problem if the workspace path leads to another folder than the one that was opened.

        The user judges by the path, so files must not be changed in a folder that has been moved elsewhere.
        """
        try:
            status = os.lstat(self._real)
        except OSError:
            status = None
        if status is None or identity_of(status) != self._identity:
            raise Problem(
                f"{self.folder} is a different folder now.", "It was moved or replaced.", "Start a new session."
            )

    @contextlib.contextmanager
    def _open_parent(
        self, name: str, *, make: bool = False, change: bool = False, protected: bool = False
    ) -> Iterator[tuple[int, str]]:
        """Open the parent folder of a path; yield its descriptor and the last component ("" for the workspace itself).

        `make` creates missing folders. With `make` or `change`, raise a Problem for protected paths, unless `protected`
        allows them.
        """
        parts = [part for part in self._name(name).split("/") if part not in ("", ".")]
        leaf = parts.pop() if parts else ""
        if leaf == "..":
            parts.append(leaf)
            leaf = ""
        must_check = (make or change) and not protected
        if must_check and self.is_protected(name):
            message, fix = f"{printable(name)} is protected.", "Ask the user to change it, or leave it."
            raise Problem(message, "Programs outside the sandbox run or trust its contents.", fix)
        folder = self._open_folder(parts, make=make)
        try:
            # Check again with the opened folder: a link in the path may have changed since the first check.
            path = f"{self._path_of(folder)}/{leaf}"
            if must_check and (is_protected(path) or is_secret(path)):
                raise Problem(f"{printable(name)} is protected.", "It leads to a protected place.", "")
            yield folder, leaf
        finally:
            os.close(folder)

    def _open_folder(self, parts: list[str], *, make: bool) -> int:
        """Open the folder with this path in the workspace; with `make`, create it and missing folders above it."""
        try:
            return self._open(self._root, "/".join(parts) or ".", _FOLDER)
        except FileNotFoundError:
            if not make:
                raise
        parent = self._open_folder(parts[:-1], make=make)
        try:
            with contextlib.suppress(FileExistsError):
                os.mkdir(parts[-1], dir_fd=parent)
        finally:
            os.close(parent)
        return self._open(self._root, "/".join(parts), _FOLDER)

    @contextlib.contextmanager
    def _errors_as_problems(self, name: str, missing: str = "") -> Iterator[None]:
        """Convert OSErrors into Problems about the path `name`; `missing` is the message if the path does not exist."""
        try:
            yield
        except FileNotFoundError as error:
            message = missing or f"{printable(name)} no longer exists."
            raise Problem(message, "", "List the folder, then use one that exists.") from error
        except OSError as error:
            raise self._as_problem(error, name) from error

    def _as_problem(self, error: OSError, name: str) -> Problem:
        if error.errno == errno.EXDEV:
            return outside_folder(name)
        if error.errno == errno.ELOOP:
            return Problem(f"{printable(name)} goes through a link that is not followed.", "", "Use the file itself.")
        if error.errno in (errno.ENXIO, errno.EISDIR, errno.ENODEV):
            return Problem(f"{printable(name)} is not a regular file.", "", "Use a file.")
        return Problem(f"{printable(name)} cannot be used.", f"{error.strerror}.", "Use another file.")


def _contents(descriptor: int, name: str, limit: int) -> bytes:
    """Return the contents of an open regular file; raise a Problem if it has more than `limit` bytes."""
    status = os.fstat(descriptor)
    _require_regular(status, name)
    if status.st_size > limit:
        raise _too_large(name, status.st_size, limit)
    chunks = []
    remaining = limit + 1  # one byte more, to notice a file that grows while it is read
    while remaining > 0 and (chunk := os.read(descriptor, min(remaining, 1 << 20))):
        chunks.append(chunk)
        remaining -= len(chunk)
    if remaining <= 0:
        raise _too_large(name, limit + 1, limit)
    return b"".join(chunks)


def _require_regular(status: os.stat_result, name: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise Problem(f"{printable(name)} is not a regular file.", "", "Use a file.")


def _too_large(name: str, size: int, limit: int) -> Problem:
    return Problem(f"{printable(name)} is too large.", f"It has {size:,} bytes or more; the limit is {limit:,}.")


def _write(folder: int, leaf: str, body: bytes, mode: int, name: str) -> ReplacedFile:
    """Create or replace a file in an open folder; `name` is its path for messages."""
    before = _contents_before(folder, leaf, name)
    if before is None:
        _replace(folder, leaf, body, mode or None)
        return ReplacedFile(before=None)
    status = os.lstat(leaf, dir_fd=folder)
    former_mode = stat.S_IMODE(status.st_mode) & 0o777
    is_written = is_mounted(status) and _overwrite(folder, leaf, body, mode or former_mode)
    if not is_written:
        _replace(folder, leaf, body, mode or former_mode)
    return ReplacedFile(before, links=status.st_nlink, mode=former_mode)


def _contents_before(folder: int, leaf: str, name: str) -> bytes | None:
    """Return the contents of a file that is about to be replaced, or None without one; raise a Problem for a link."""
    try:
        descriptor = os.open(leaf, _READ | getattr(os, "O_NOFOLLOW", 0), dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):
            raise Problem(f"{printable(name)} is a link.", "", "Use the file it leads to.") from error
        raise
    try:
        return _contents(descriptor, name, WRITE_LIMIT)
    finally:
        os.close(descriptor)


def _replace(folder: int, leaf: str, body: bytes, mode: int | None) -> None:
    """Write a new file and rename it over the old one, so that a crash leaves either the old or the new contents."""
    temporary = f".journeyman-{secrets.token_hex(8)}"
    descriptor = os.open(temporary, _NEW, 0o666, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(body)
            file.flush()
            if mode is not None:
                os.fchmod(descriptor, mode)
            os.fsync(descriptor)
        os.rename(temporary, leaf, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)
        raise
    os.fsync(folder)


def _overwrite(folder: int, leaf: str, body: bytes, mode: int) -> bool:
    """Write a file in place, so that the mounts by which sandboxes protect or hide it stay.

    Return False if that is not possible: the file is read-only or has other hard links. A full disk changes nothing.
    """
    try:
        descriptor = os.open(leaf, _IN_PLACE, dir_fd=folder)
    except PermissionError:
        return False
    with os.fdopen(descriptor, "wb") as file:
        status = os.fstat(descriptor)
        if status.st_nlink > 1 or not stat.S_ISREG(status.st_mode):
            return False
        if body:
            os.posix_fallocate(descriptor, 0, len(body))
        file.write(body)
        file.flush()
        os.ftruncate(descriptor, len(body))
        os.fchmod(descriptor, mode)
        os.fsync(descriptor)
    return True


def _kind(entry: os.DirEntry[str]) -> EntryKind:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    return "file" if entry.is_file(follow_symlinks=False) else "other"
