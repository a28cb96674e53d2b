"""The one way to the files of a workspace: everything is reached from a descriptor of the folder, opened once."""

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import TracebackType

from core.domain.problems import Problem
from core.domain.sensitive import is_protected, is_secret
from core.workspace import beneath
from core.workspace.paths import outside, relative, shown

READ_LIMIT = 8 << 20
SMALL = 128 << 10
WRITE_LIMIT = 32 << 20

_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_BARE = getattr(os, "O_PATH", os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)) | getattr(os, "O_NOFOLLOW", 0)
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)  # a FIFO must not hold us
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


@dataclass(frozen=True, slots=True)
class Written:
    """What a write replaced: None where there was no file. `names` counts its names, `mode` are its bits."""

    before: bytes | None
    names: int = 1
    mode: int = 0


class Broker:
    """Reads, writes, removes and lists beneath one folder, for one run; `close` lets go of it."""

    def __init__(self, folder: Path, *, by_walking: bool = False) -> None:
        self.folder = folder
        self._real = Path(os.path.realpath(folder))
        self._open = beneath.openat2 if beneath.kernel_confines() and not by_walking else beneath.walk
        self._root = os.open(self._real, _FOLDER)
        found = os.fstat(self._root)
        self._identity = (found.st_dev, found.st_ino)

    def __enter__(self) -> "Broker":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._root >= 0:
            os.close(self._root)
            self._root = -1

    def look(self, name: str) -> os.stat_result | None:
        """What lies under this name, a link itself and not what it leads to; None where nothing does."""
        with self._spoken(name):
            try:
                with self._beside(name) as (folder, leaf):
                    return os.lstat(leaf, dir_fd=folder) if leaf else os.fstat(folder)
            except FileNotFoundError:
                return None

    def read(self, name: str, limit: int = READ_LIMIT, *, keys: bool = True) -> bytes:
        """The contents of an ordinary file of a sane size. Without `keys` none that holds any."""
        with self._to_read(name, keys) as descriptor:
            return _contents(descriptor, name, limit)

    def read_small(self, name: str, *, keys: bool = True) -> bytes | None:
        """The same of a file that is read in less time than a thread takes to begin; None of a larger one."""
        with self._to_read(name, keys) as descriptor:
            return _contents(descriptor, name, READ_LIMIT) if os.fstat(descriptor).st_size <= SMALL else None

    @contextlib.contextmanager
    def _to_read(self, name: str, keys: bool) -> Iterator[int]:
        """What is open is looked at: a link on the way may have been turned round since somebody looked at the name."""
        with self._spoken(name, f"There is no file {shown(name)}."):
            descriptor = self._open(self._root, self._name(name), _READ)
            try:
                if not keys and is_secret(self._place(descriptor)):
                    raise Problem(f"{shown(name)} holds secrets.", "", "A person can open it, an agent cannot.")
                yield descriptor
            finally:
                os.close(descriptor)

    def write(self, name: str, body: bytes, *, protected: bool = False, mode: int = 0) -> Written:
        """All of the new contents or all of the old, never a mixture. `protected` is a person's word for this file.

        With `mode` it gets these permission bits, else it keeps those it has.
        """
        if len(body) > WRITE_LIMIT:
            raise Problem(f"{shown(name)} would be too large.", f"{len(body):,} bytes; {WRITE_LIMIT:,} can be written.")
        found = self.look(name)
        if found and stat.S_ISLNK(found.st_mode):
            name = self.real(name)  # the file it leads to is written, the link stays
        with self._spoken(name), self._beside(name, make=True, protected=protected) as (folder, leaf):
            if not leaf:
                raise Problem(f"{shown(name)} is a folder.", "", "Name a file.")
            before = self._replaced(folder, leaf, name)
            found = None if before is None else os.lstat(leaf, dir_fd=folder)
            had = stat.S_IMODE(found.st_mode) & 0o777 if found else 0
            _replace(folder, leaf, body, mode or (had if found else None))
            return Written(before, found.st_nlink if found else 1, had)

    def remove(self, name: str, *, protected: bool = False) -> None:
        """Remove a file or a link, never a folder."""
        missing = f"There is no file {shown(name)}."
        with self._spoken(name, missing), self._beside(name, protected=protected, change=True) as (folder, leaf):
            if not leaf:
                raise Problem(f"{shown(name)} is a folder.", "", "Name a file.")
            os.unlink(leaf, dir_fd=folder)

    def mode(self, name: str) -> int:
        """The permission bits of an ordinary file; 0 where there is none."""
        found = self.look(name)
        return stat.S_IMODE(found.st_mode) & 0o777 if found and stat.S_ISREG(found.st_mode) else 0

    def entries(self, name: str = ".") -> list[tuple[str, str]]:
        """Every name of a folder with its kind: folder, file, link or other."""
        with self._spoken(name, f"There is no folder {shown(name)}."):
            descriptor = self._open(self._root, self._name(name), _FOLDER)
            try:
                with os.scandir(descriptor) as found:
                    return sorted((entry.name, _kind(entry)) for entry in found)
            finally:
                os.close(descriptor)

    @contextlib.contextmanager
    def opened(self, name: str = ".") -> Iterator[int]:
        """A folder, open, for those who look at many."""
        with self._spoken(name, f"There is no folder {shown(name)}."):
            descriptor = self._open(self._root, self._name(name), _FOLDER)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def is_protected(self, name: str) -> bool:
        """Whether a write to this name needs a person's word, also by way of a link or another spelling."""
        return is_protected(self.real(name))

    def real(self, name: str) -> str:
        """The name with its links resolved; what is not there yet keeps its own spelling."""
        relative_name = self._name(name)
        with contextlib.suppress(OSError):
            return self._real_of(self._open(self._root, relative_name, _BARE & ~getattr(os, "O_NOFOLLOW", 0)))
        parts = PurePosixPath(relative_name).parts
        for kept in range(len(parts) - 1, -1, -1):
            try:
                near = self._real_of(self._open(self._root, "/".join(parts[:kept]) or ".", _FOLDER))
            except FileNotFoundError:
                continue
            except OSError as error:
                raise self._told(error, name) from error
            return str(PurePosixPath(near, *parts[kept:]))
        return relative_name

    def _real_of(self, descriptor: int) -> str:
        try:
            return self._place(descriptor)
        finally:
            os.close(descriptor)

    def _place(self, descriptor: int) -> str:
        place, root = beneath.place_of(descriptor), beneath.place_of(self._root)
        inside = place.startswith(root.rstrip("/") + "/")
        return place[len(root.rstrip("/")) + 1 :] if inside else os.path.relpath(place, root)

    def _name(self, name: str) -> str:
        self.check_folder()
        return relative(name, self.folder)

    def check_folder(self) -> None:
        """The folder of the start must still be the one its path names: a person looks at the path."""
        try:
            found = os.lstat(self._real)
        except OSError:
            found = None
        if found is None or (found.st_dev, found.st_ino) != self._identity:
            raise Problem(f"{self.folder} is another folder now.", "It was moved or replaced.", "Start a new run.")

    @contextlib.contextmanager
    def _beside(
        self, name: str, *, make: bool = False, change: bool = False, protected: bool = False
    ) -> Iterator[tuple[int, str]]:
        """The open folder a name lies in, and the last part of the name; no last part for the workspace itself."""
        parts = [part for part in self._name(name).split("/") if part not in ("", ".")]
        leaf = parts.pop() if parts else ""
        if leaf == "..":
            parts, leaf = [*parts, leaf], ""
        if (make or change) and not protected and self.is_protected(name):
            what, do = f"{shown(name)} is protected.", "Ask the person to change it, or leave it."
            raise Problem(what, "Programs outside the sandbox run or trust what it says.", do)
        folder = self._folder(parts, make)
        try:
            # Looked at again behind the descriptor: a link on the way may have been turned round meanwhile.
            place = f"{self._place(folder)}/{leaf}"
            if (make or change) and not protected and (is_protected(place) or is_secret(place)):
                raise Problem(f"{shown(name)} is protected.", "It leads to a protected place.", "")
            yield folder, leaf
        finally:
            os.close(folder)

    def _folder(self, parts: list[str], make: bool) -> int:
        try:
            return self._open(self._root, "/".join(parts) or ".", _FOLDER)
        except FileNotFoundError:
            if not make:
                raise
        above = self._folder(parts[:-1], make)
        try:
            with contextlib.suppress(FileExistsError):
                os.mkdir(parts[-1], dir_fd=above)
        finally:
            os.close(above)
        return self._open(self._root, "/".join(parts), _FOLDER)

    def _replaced(self, folder: int, leaf: str, name: str) -> bytes | None:
        """What the file held; a link or a thing that is no file is not written over."""
        try:
            descriptor = os.open(leaf, _READ | getattr(os, "O_NOFOLLOW", 0), dir_fd=folder)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EMLINK):
                raise Problem(f"{shown(name)} is a link.", "", "Name the file it leads to.") from error
            raise
        try:
            return _contents(descriptor, name, WRITE_LIMIT)
        finally:
            os.close(descriptor)

    @contextlib.contextmanager
    def _spoken(self, name: str, missing: str = "") -> Iterator[None]:
        """The kernel's refusals as sentences."""
        try:
            yield
        except FileNotFoundError as error:
            what = missing or f"{shown(name)} has gone meanwhile."
            raise Problem(what, "", "Look at the folder, then name one that exists.") from error
        except OSError as error:
            raise self._told(error, name) from error

    def _told(self, error: OSError, name: str) -> Problem:
        if error.errno == errno.EXDEV:
            return outside(name)
        if error.errno == errno.ELOOP:
            return Problem(f"{shown(name)} goes through a link that is not followed.", "", "Name the file itself.")
        if error.errno in (errno.ENXIO, errno.EISDIR, errno.ENODEV):
            return Problem(f"{shown(name)} is no ordinary file.", "", "Name a file.")
        return Problem(f"{shown(name)} cannot be used.", f"{error.strerror}.", "Name another file.")


def _contents(descriptor: int, name: str, limit: int) -> bytes:
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise Problem(f"{shown(name)} is no ordinary file.", "", "Name a file.")
    size, pieces = found.st_size, []
    if size <= limit:
        left = limit + 1  # it may grow while it is read
        while left > 0 and (piece := os.read(descriptor, min(left, 1 << 20))):
            pieces.append(piece)
            left -= len(piece)
        size = max(limit + 1 - left, 0)
    if size > limit:
        raise Problem(f"{shown(name)} is too large.", f"It has {size:,} bytes or more; {limit:,} can be read.")
    return b"".join(pieces)


def _replace(folder: int, leaf: str, body: bytes, mode: int | None) -> None:
    """Through a new file beside the old one, so that a crash leaves one of the two."""
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


def _kind(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    return "file" if entry.is_file(follow_symlinks=False) else "other"
