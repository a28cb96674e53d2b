"""File operations that survive a crash: atomic replacement, private files, and renaming a database with its WAL."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import chain
from pathlib import Path

from core.domain.problems import Problem

COMPANION_SUFFIXES = ("-wal", "-shm", "-journal")  # suffixes of the files that SQLite keeps next to a database
DATABASE_SUFFIXES = ("", *COMPANION_SUFFIXES)
# Why a file was renamed; the reason becomes a part of its new name.
DAMAGED = "damaged"
REPLACED = "replaced"
PARTIAL_SUFFIX = ".part"  # suffix of a file that is still being written
LOW_SPACE = 2**20  # bytes; a disk with less free space counts as full when a write fails


def make_private(folder: Path) -> None:
    """Create a folder that only its owner can enter.

    An existing folder becomes private only if it is empty; otherwise its permissions stay.
    """
    try:
        is_new = not folder.exists()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if is_new or not any(folder.iterdir()):
            folder.chmod(0o700)
    except OSError as error:
        raise unwritable_folder(folder, error) from error


def touch_private(path: Path) -> None:
    """Create an empty file that only its owner can read. An existing file keeps its contents."""
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    path.chmod(0o600)


def sync(path: Path) -> None:
    """Flush a file, or the entries of a folder, to the disk."""
    if path.is_dir() and os.name == "nt":
        return  # Windows cannot sync a folder
    handle = os.open(path, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def replace_atomically(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write to.

    It replaces `path` atomically when the block ends, and is deleted on an error.
    """
    part = path.with_name(path.name + PARTIAL_SUFFIX)
    try:
        part.unlink(missing_ok=True)
        touch_private(part)
        yield part
        sync(part)
        part.replace(path)
        sync(path.parent)
    finally:
        part.unlink(missing_ok=True)


def file_size(path: Path) -> int:
    """Return the size of a file in bytes, or 0 if it does not exist."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def wal_path(path: Path) -> Path:
    """Return the path of the database's write-ahead log, which holds the newest commits."""
    return path.with_name(path.name + "-wal")


def move_aside(path: Path, reason: str) -> Path:
    """Rename a database and its WAL, for example to `journeyman.db.damaged-20250131-120000`. Return the new path."""
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    first = path.with_name(f"{path.name}.{reason}-{stamp}")
    others = (first.with_name(f"{first.name}-{number}") for number in range(1, 1000))
    aside = next(candidate for candidate in chain([first], others) if not candidate.exists())
    _move(path, aside)
    return aside


def swap_in(new: Path, path: Path, reason: str) -> Path:
    """Rename the current database, and give its name to `new`. Return the path of the renamed database.

    After a crash in between, `finish_swap` completes it.
    """
    aside = move_aside(path, reason)
    _move(new, path)
    return aside


def finish_swap(path: Path, new: Path) -> bool:
    """Complete a `swap_in` that was interrupted by a crash. Return whether there was one."""
    if path.exists() or not new.exists():
        return False
    if wal_path(path).exists():
        asides = [aside for reason in (DAMAGED, REPLACED) for aside in path.parent.glob(f"{path.name}.{reason}-*")]
        databases = [
            aside for aside in asides if not aside.name.endswith(COMPANION_SUFFIXES) and not wal_path(aside).exists()
        ]
        newest = max(databases, key=lambda aside: aside.stat().st_ctime_ns, default=path.with_name(f"{path.name}.lost"))
        _move(path, newest)
    _move(new, path)
    return True


def unwritable_folder(folder: Path, error: OSError) -> Problem:
    """Return the Problem that describes a folder that cannot be written."""
    if is_no_space_error(error):
        return Problem("The disk is full.", f"{folder}: {error.strerror}.", "Free some space, then try again.")
    return Problem(
        "The data folder is not accessible.",
        f"{folder}: {error.strerror or error}.",
        "Change its permissions, or choose another folder with --data-dir.",
    )


def is_no_space_error(error: BaseException | None) -> bool:
    """Return whether the error means that the disk or the user's quota is full."""
    return isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}


def is_nearly_full(folder: Path) -> bool:
    """Return whether less than LOW_SPACE is free on the disk of a folder."""
    try:
        return shutil.disk_usage(folder).free < LOW_SPACE
    except OSError:
        return False


def _move(old: Path, new: Path) -> None:
    # Rename the WAL too: SQLite would replay a leftover one into the next database with this name.
    for suffix in DATABASE_SUFFIXES:
        source = old.with_name(old.name + suffix)
        if source.exists():
            source.rename(new.with_name(new.name + suffix))
    sync(new.parent)
