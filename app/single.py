"""One owner for each data folder: a lock that dies with its process."""

import errno
import os
import sys
from pathlib import Path
from typing import IO

from core.domain.problems import Problem


class Lock:
    """Held from `take` to `release`, or to the end of the process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] | None = None

    def take(self) -> bool:
        """True when the folder is ours now."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            file = os.fdopen(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600), "r+")
        except OSError as error:
            if error.errno in {errno.EACCES, errno.EROFS, errno.EPERM} and self._path.parent.is_dir():
                return True  # where nobody can write, nobody needs to be kept out
            raise Problem(
                f"The data folder {self._path.parent} cannot be made.",
                f"{error.strerror}.",
                "Name another folder with --home.",
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


def refuse_safe(safe: bool) -> None:
    """Safe mode is of a process, and another one holds the folder."""
    if safe:
        raise Problem(
            "Journeyman has this data open, and not in safe mode.", "Only one can have it at a time.", "Close it first."
        )


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
