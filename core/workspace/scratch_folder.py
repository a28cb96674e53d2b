"""A temporary folder for the lifetime of the process; those left behind by killed processes are deleted."""

import contextlib
import os
import shutil
import sys
import tempfile
import time
import weakref
from pathlib import Path

if sys.platform != "win32":
    import fcntl

PREFIX = "journeyman-walls-"
SMALLEST = 4096  # bytes that even an empty file counts for
YOUNG_S = 60.0  # a newer folder may just have been created and not be locked yet


class ScratchFolder:
    """A temporary folder `path`, with a lock that ends with the process. `close` deletes it.

    Folders with the same prefix that nobody holds any more are deleted first.
    """

    def __init__(self, prefix: str = PREFIX) -> None:
        _take_away_what_is_left(Path(tempfile.gettempdir()), prefix)
        self.path = Path(tempfile.mkdtemp(prefix=prefix))
        held = _opened(self.path)
        with contextlib.suppress(OSError):  # without locks, nothing is deleted either
            fcntl.flock(held, fcntl.LOCK_EX)
        self.close = weakref.finalize(self, _end, self.path, held)


def _end(path: Path, held: int) -> None:
    delete_folder(path)
    os.close(held)


def delete_folder(path: Path) -> None:
    """Delete a folder, also subfolders that a command made inaccessible; links are not followed."""
    for folder, inner, _ in os.walk(path):
        for place in (Path(folder, name) for name in inner):
            if not place.is_symlink():
                place.chmod(0o700)
    shutil.rmtree(path, ignore_errors=True)


def occupied_space(path: Path, limit: int) -> int:
    """Return how many bytes the files in a folder occupy; stop counting beyond the limit. Links are not followed."""
    found = 0
    for folder, inner, files in os.walk(path):
        for name in (*inner, *files):
            with contextlib.suppress(OSError):
                found += max(512 * Path(folder, name).lstat().st_blocks, SMALLEST)
        if found > limit:
            break
    return found


def _take_away_what_is_left(folder: Path, prefix: str) -> None:
    for place in folder.glob(f"{prefix}*"):
        with contextlib.suppress(OSError):
            held = _opened(place)
            try:
                found = os.fstat(held)
                if found.st_uid == os.getuid() and time.time() - found.st_mtime > YOUNG_S:
                    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    delete_folder(place)
            finally:
                os.close(held)


def _opened(place: Path) -> int:
    return os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
