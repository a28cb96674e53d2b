"""Files that are whole or not there: written beside, made durable, then put in place."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from core.domain.problems import Problem

PARTS = ("", "-wal", "-shm", "-journal")  # what SQLite keeps of one database
ASIDE = ("damaged", "replaced")  # why a file was set aside
PART = ".part"  # the end of a name that is still being written
LITTLE = 2**20  # bytes: with less than that left, a disk counts as full where a write fails


def make_private(folder: Path) -> None:
    """A folder that only its owner may enter. One that others use already keeps its rights."""
    try:
        fresh = not folder.exists()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if fresh or not any(folder.iterdir()):
            folder.chmod(0o700)
    except OSError as error:
        raise unwritable(folder, error) from error


def touch_private(path: Path) -> None:
    """An empty file that only its owner may read; one that is there keeps its contents."""
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    path.chmod(0o600)


def sync(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk."""
    if path.is_dir() and os.name == "nt":
        return  # a folder cannot be opened there
    handle = os.open(path, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def in_place_of(path: Path) -> Iterator[Path]:
    """A name to write to; when the block ends well the file there is synced and becomes `path`, otherwise it goes."""
    part = path.with_name(path.name + PART)
    try:
        part.unlink(missing_ok=True)
        touch_private(part)
        yield part
        sync(part)
        part.replace(path)
        sync(path.parent)
    finally:
        part.unlink(missing_ok=True)


def size_of(path: Path) -> int:
    """0 where there is no file."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def wal_of(path: Path) -> Path:
    """The file of the newest commits, beside the database."""
    return path.with_name(path.name + "-wal")


def set_aside(path: Path, word: str) -> Path:
    """Rename a database, with all its parts, to a name that is free: `journeyman.db.damaged-20250131-120000`."""
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    names = (f"{path.name}.{word}-{stamp}" + (f"-{n}" if n else "") for n in range(1000))
    aside = next(path.with_name(name) for name in names if not path.with_name(name).exists())
    _move(path, aside)
    return aside


def put_in_place(new: Path, path: Path, word: str) -> Path:
    """Set the present file aside and let `new` take its name; `finish` ends it where a crash came between."""
    aside = set_aside(path, word)
    _move(new, path)
    return aside


def finish(path: Path, new: Path) -> bool:
    """End a `put_in_place` that a crash cut: the old file was gone, its log perhaps not yet."""
    if path.exists() or not new.exists():
        return False
    if wal_of(path).exists():
        asides = [found for word in ASIDE for found in path.parent.glob(f"{path.name}.{word}-*")]
        bare = [found for found in asides if not found.name.endswith(PARTS[1:]) and not wal_of(found).exists()]
        newest = max(bare, key=lambda found: found.stat().st_ctime_ns, default=path.with_name(f"{path.name}.lost"))
        _move(path, newest)
    _move(new, path)
    return True


def unwritable(folder: Path, error: OSError) -> Problem:
    """A folder that does not let us."""
    if no_room(error):
        return Problem("The disk is full.", f"{folder}: {error.strerror}.", "Free some space, then try again.")
    return Problem(
        "The data folder cannot be used.",
        f"{folder}: {error.strerror or error}.",
        "Give yourself the right to write there, or choose another folder with --home.",
    )


def no_room(error: BaseException | None) -> bool:
    """Is it the disk, or what one may use of it, that is full?"""
    return isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}


def crammed(folder: Path) -> bool:
    """Is next to nothing left on the disk?"""
    try:
        return shutil.disk_usage(folder).free < LITTLE
    except OSError:
        return False


def _move(old: Path, new: Path) -> None:
    # A log left behind would be read into whatever takes the name, so the names change first, then one sync.
    for part in PARTS:
        source = old.with_name(old.name + part)
        if source.exists():
            source.rename(new.with_name(new.name + part))
    sync(new.parent)
