"""Room kept back on the disk, given up when it is full, so that a run can still be closed honestly."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from core.store.files import in_place_of, size_of

SIZE = 16 * 2**20
MARGIN = 3  # times its size must stay free before it is made again


class Ballast:
    """A file of `size` bytes in the data folder.

    Attributes:
        on_relief: called on the writing thread when the room was given up, so that runs can pause.
    """

    def __init__(self, folder: Path, size: int = SIZE) -> None:
        self.path = folder / "journeyman.ballast"
        self.on_relief: Callable[[], None] = lambda: None
        self._size = size

    def relieve(self) -> bool:
        """The disk is full: give the room up. False where it was given up before."""
        there = size_of(self.path) > 0
        self.path.unlink(missing_ok=True)
        if there:
            self.on_relief()
        return there

    def fill(self) -> bool:
        """Keep the room back again, where there is plenty; true when it is there."""
        if size_of(self.path) == self._size:
            return True
        try:
            if shutil.disk_usage(self.path.parent).free < self._size * (1 + MARGIN):
                return False
            with in_place_of(self.path) as part:
                _occupy(part, self._size)
        except OSError:
            return False  # no room after all, and that is no fault
        return True


def _occupy(path: Path, size: int) -> None:
    """Real blocks: a file of holes would free nothing."""
    with path.open("r+b") as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        else:
            for _ in range(0, size, 2**20):
                file.write(os.urandom(2**20))  # zeros would be compressed away
