"""Reserved disk space that is released when the disk is full, so that runs can still be closed properly."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from core.store.files import file_size, replace_atomically

BALLAST_SIZE = 16 * 2**20
MARGIN = 3  # the ballast is recreated only if this multiple of its size stays free afterwards


class Ballast:
    """A file of `size` bytes in the data folder, which can be deleted to free space.

    Attributes:
        on_release: called on the writing thread when the space was released, so that runs can pause.
    """

    def __init__(self, folder: Path, size: int = BALLAST_SIZE) -> None:
        self.path = folder / "journeyman.ballast"
        self.on_release: Callable[[], None] = lambda: None
        self._size = size

    def release(self) -> bool:
        """Release the reserved space. Return false if it was released before."""
        existed = file_size(self.path) > 0
        self.path.unlink(missing_ok=True)
        if existed:
            self.on_release()
        return existed

    def fill(self) -> bool:
        """Reserve the space again if the disk has plenty. Return whether it is reserved."""
        if file_size(self.path) == self._size:
            return True
        try:
            if shutil.disk_usage(self.path.parent).free < self._size * (1 + MARGIN):
                return False
            with replace_atomically(self.path) as part:
                _allocate(part, self._size)
        except OSError:
            return False  # There is no space after all, which is not an error.
        return True


def _allocate(path: Path, size: int) -> None:
    """Allocate real blocks: deleting a sparse file would free nothing."""
    with path.open("r+b") as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        else:
            for _ in range(0, size, 2**20):
                file.write(os.urandom(2**20))  # A compressing file system would store zeros in no space.
