"""The lock on a data folder, held by one process at a time; the system releases it when that process ends."""

import errno
import os
import sys
from pathlib import Path
from typing import IO

from core.domain.problems import Problem


class DataFolderLock:
    """A lock that is held from `acquire` to `release`, or to the end of the process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] | None = None

    def acquire(self) -> bool:
        """Try to acquire the lock, without waiting; return whether it is held now. A missing folder is created."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            file = os.fdopen(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600), "r+")
        except OSError as error:
            if error.errno in {errno.EACCES, errno.EROFS, errno.EPERM} and self._path.parent.is_dir():
                return True  # no process can write to a read-only folder, so no lock is needed
            raise Problem(
                f"The data folder {self._path.parent} cannot be created.",
                f"{error.strerror}.",
                "Choose another folder with --data-dir.",
            ) from error
        if not _lock(file):
            file.close()
            return False
        self._file = file
        return True

    def release(self) -> None:
        if self._file:
            self._file.close()
            self._file = None


def refuse_safe_mode(safe: bool) -> None:
    """Raise a Problem for --safe, because the process that holds the data folder is not in safe mode."""
    if safe:
        raise Problem("Safe mode cannot start.", "The data is in use by another Journeyman.", "Close that one first.")


if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[str]) -> bool:
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _lock(file: IO[str]) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
