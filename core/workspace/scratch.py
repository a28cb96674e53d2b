"""A folder for as long as the program lives, outside of every workspace; what killed programs left is taken away."""

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
YOUNG_S = 60.0  # it may have been made a moment ago, and not be held yet


class Scratch:
    """`path`, held by a lock that ends with the program, however that ends."""

    def __init__(self) -> None:
        _take_away_what_is_left(Path(tempfile.gettempdir()))
        self._folder = tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True)
        self.path = Path(self._folder.name)
        held = _opened(self.path)
        self._let_go = weakref.finalize(self, os.close, held)
        fcntl.flock(held, fcntl.LOCK_EX)

    def close(self) -> None:
        self._folder.cleanup()
        self._let_go()


def _take_away_what_is_left(folder: Path) -> None:
    for place in folder.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            held = _opened(place)
            try:
                found = os.fstat(held)
                if found.st_uid == os.getuid() and time.time() - found.st_mtime > YOUNG_S:
                    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(place, ignore_errors=True)
            finally:
                os.close(held)


def _opened(place: Path) -> int:
    return os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
