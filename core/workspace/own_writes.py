"""Notes which files Journeyman itself writes in folders in which commands run, on approval or when the user reverts.

A scan of such a folder can then tell these writes from changes by a command.
"""

import contextlib
import os
import stat
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from core.workspace.file_change import OriginalFile

_registering = threading.Lock()
_active: "weakref.WeakSet[OwnWrites]" = weakref.WeakSet()


class OwnWrites:
    """What Journeyman itself left in the files of a folder since this object was created, by path in the folder.

    `files` maps to None where Journeyman removed a file. It only changes while `scan_lock` is held, which a caller
    therefore holds from the listing of the folder to the end of the comparison.
    """

    def __init__(
        self, folder: Path, scan_lock: threading.Lock, files: Mapping[str, OriginalFile | None] | None = None
    ) -> None:
        self.files = dict(files or {})
        self.scan_lock = scan_lock
        self._prefix = f"{os.path.realpath(folder).rstrip('/')}/"
        # Is called with each path and its contents.
        self.before_write: Callable[[str, bytes | None], None] | None = None
        with _registering:
            _active.add(self)

    def copy(self) -> "OwnWrites":
        """Return a copy for a scan that continues with the same state of the folder."""
        return OwnWrites(Path(self._prefix), self.scan_lock, self.files)

    def covers(self, path: str) -> bool:
        return path.startswith(self._prefix)

    def announce(self, path: str, body: bytes | None) -> None:
        """Announce a write to `before_write`."""
        if self.before_write:
            self.before_write(path.removeprefix(self._prefix), body)

    def note(self, path: str, file: OriginalFile | None) -> None:
        self.files[path.removeprefix(self._prefix)] = file


@contextlib.contextmanager
def noted(path: str, body: bytes | None) -> Iterator[None]:
    """Note that Journeyman writes a file while this context is open, or removes it if `body` is None.

    The path is absolute and without links. Scans of the folder wait until the file is written.
    """
    with _registering:
        affected = [each for each in _active if each.covers(path)]
    with contextlib.ExitStack() as locks:
        for lock in sorted({each.scan_lock for each in affected}, key=id):  # in one order, so that writers never block
            locks.enter_context(lock)
        for each in affected:
            each.announce(path, body)
        yield
        for each in affected:
            each.note(path, None if body is None else OriginalFile(body, _mode(path)))


def _mode(path: str) -> int:
    try:
        return stat.S_IMODE(os.lstat(path).st_mode)
    except OSError:  # a command removed the file at once
        return 0o644
