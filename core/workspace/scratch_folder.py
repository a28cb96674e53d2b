"""Temporary folders for the lifetime of this process. Folders left behind by killed processes are deleted."""

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

PREFIX = "journeyman-sandbox-"
MIN_FILE_BYTES = 4096  # to count for a file even if it is empty
YOUNG_S = 60.0  # age in seconds below which a folder may not be locked yet by its process


class ScratchFolder:
    """A temporary folder `path`, locked by this process until `close` deletes it.

    Creating one first deletes folders with the same prefix that no process has locked.
    """

    def __init__(self, prefix: str = PREFIX) -> None:
        place = Path(tempfile.gettempdir())
        _delete_leftovers(place, prefix)
        self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
        lock = _open_folder(self.path)
        with contextlib.suppress(OSError):  # without lock support, folders of killed processes are not deleted
            fcntl.flock(lock, fcntl.LOCK_EX)
        self.close = weakref.finalize(self, _delete_and_unlock, self.path, lock)


def _delete_and_unlock(path: Path, lock: int) -> None:
    delete_folder(path)
    os.close(lock)


def delete_folder(path: Path) -> None:
    """Delete a folder, even with subfolders that a command made inaccessible. Links are not followed."""
    for folder, subfolders, _ in os.walk(path):
        for subfolder in (Path(folder, name) for name in subfolders):
            if not subfolder.is_symlink():
                subfolder.chmod(0o700)
    shutil.rmtree(path, ignore_errors=True)


def occupied_space(path: Path, limit: int) -> int:
    """Return how many bytes the files in a folder occupy on disk, without following links; stop beyond `limit`."""
    size = 0
    for folder, subfolders, files in os.walk(path):
        for name in (*subfolders, *files):
            with contextlib.suppress(OSError):
                size += max(512 * Path(folder, name).lstat().st_blocks, MIN_FILE_BYTES)
        if size > limit:
            break
    return size


def _delete_leftovers(folder: Path, prefix: str) -> None:
    for leftover in folder.glob(f"{prefix}*"):
        with contextlib.suppress(OSError):
            lock = _open_folder(leftover)
            try:
                status = os.fstat(lock)
                if status.st_uid == os.getuid() and time.time() - status.st_mtime > YOUNG_S:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    delete_folder(leftover)
            finally:
                os.close(lock)


def _open_folder(folder: Path) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
