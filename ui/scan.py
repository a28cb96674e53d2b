"""Read what a person looks back on out of a whole journal, a slice at a time, and go on as it grows."""

from collections.abc import Iterable
from time import perf_counter
from typing import Any, Final, Protocol

from PySide6.QtCore import QObject, QTimer, Signal

from core.timeline.past import KINDS, Past

SLICE: Final = 5_000  # lines that one look passes over
MOST: Final = 200  # of which it takes at most so many with it
BUDGET_S: Final = 0.006  # of the window's time, before it may do something else
PAUSE_MS: Final = 8
TELL_S: Final = 0.2  # what is read is shown not more often, until all of it is
START_MS: Final = 30  # the rows are painted first


class Lines(Protocol):
    """Where lines are read from: in the app the store's reader."""

    def lines(self, session: str, kinds: Iterable[str], after: int, until: int, most: int) -> list[dict[str, Any]]: ...

    def kept(self, blob: str) -> bytes | None: ...


class PastScan(QObject):
    """`changed` when more is known; `done` is True once the journal was read to its end."""

    changed = Signal()

    def __init__(self, rows: Lines, kinds: tuple[str, ...] = KINDS, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows, self._kinds = rows, kinds
        self._session, self._seen, self._until = "", 0, 0
        self._told = 0.0
        self.past = Past()
        self._next = QTimer(self, singleShot=True)
        self._next.timeout.connect(self._read)

    @property
    def done(self) -> bool:
        return self._seen >= self._until

    @property
    def session(self) -> str:
        return self._session

    @property
    def share(self) -> float:
        """How much of the journal was read."""
        return self._seen / self._until if self._until else 1.0

    def follow(self, session: str, until: int) -> None:
        """Read this session up to a line; the same session goes on where it was."""
        if session != self._session:
            self._session, self._seen, self.past = session, 0, Past()
            self.changed.emit()
        self._until = until
        if not self.done and not self._next.isActive():
            self._next.start(START_MS if self._seen == 0 else PAUSE_MS)

    def stop(self) -> None:
        """Read no more: there is nothing left to read from."""
        self._next.stop()

    def finish(self) -> None:
        """Read the rest at once: for pictures and tests."""
        while not self.done:
            self._slice()
        while not self.past.compared:
            self.past.compare(self._rows.kept)
        self._next.stop()
        self.changed.emit()

    def _read(self) -> None:
        began, more = perf_counter(), False
        while not self.done and perf_counter() - began < BUDGET_S:
            more = self._slice() or more
        while self.done and not self.past.compared and perf_counter() - began < BUDGET_S:
            self.past.compare(self._rows.kept)
        over = self.done and self.past.compared
        if not over:
            self._next.start(PAUSE_MS)
        if ((more or self.done) and perf_counter() - self._told > TELL_S) or over:
            self._told = perf_counter()
            self.changed.emit()

    def _slice(self) -> bool:
        """One look; True where it found something."""
        until = min(self._until, self._seen + SLICE)
        found = self._rows.lines(self._session, self._kinds, self._seen, until, MOST)
        self.past.hear(found)
        self._seen = found[-1]["seq"] if len(found) == MOST else until
        return bool(found)
