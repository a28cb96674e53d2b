"""Reserved disk space that is released when the disk is full, so that runs can still be closed properly."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from core.store.files import file_size, replace_atomically

BALLAST_SIZE = 16 * 2**20
MARGIN = 3  # multiple of the size that must stay free after the file is created again


class Ballast:
    """A file of `size` bytes in the data folder, which can be deleted to free space on a full disk.

    Attributes:
        on_release: Called on the writing thread when the space was released, so that runs can pause.
    """

    def __init__(self, folder: Path, size: int = BALLAST_SIZE) -> None:
        self.path = folder / "journeyman.ballast"
        self.on_release: Callable[[], None] = lambda: None
        self._size = size

    def release(self) -> bool:
        """Delete the file to free its space. Return false if that was done before."""
        existed = file_size(self.path) > 0
        self.path.unlink(missing_ok=True)
        if existed:
            self.on_release()
        return existed

    def fill(self) -> bool:
        """Create the file again if the disk has plenty of space. Return whether the file exists now."""
        if file_size(self.path) == self._size:
            return True
        try:
            if shutil.disk_usage(self.path.parent).free < self._size * (1 + MARGIN):
                return False
            with replace_atomically(self.path) as part:
                _allocate(part, self._size)
        except OSError:
            return False  # the space is gone meanwhile, which is not an error
        return True


def _allocate(path: Path, size: int) -> None:
    """Write a file of this size whose blocks are allocated. Deleting a sparse file would free no space."""
    with path.open("r+b") as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        else:
            for _ in range(0, size, 2**20):
                file.write(os.urandom(2**20))  # a compressing file system would store zeros in almost no space
