"""Reads the history of a session (such as changes, decisions and issues) from the event log in small slices."""

from collections.abc import Iterable
from time import perf_counter
from typing import Any, Final, Protocol

from PySide6.QtCore import QObject, QTimer, Signal

from core.timeline.session_activity import ACTIVITY_KINDS, SessionActivity

EVENTS_PER_QUERY: Final = 5_000  # sequence numbers that one query covers
MAX_RESULTS: Final = 200  # events that one query returns at most
BUDGET_S: Final = 0.006  # seconds for which a slice may occupy the thread of the window
PAUSE_MS: Final = 8
SIGNAL_INTERVAL_S: Final = 0.2  # seconds; minimum interval between two `changed` signals while reading
START_MS: Final = 30  # milliseconds before the first slice, so that the rows are painted first


class HistorySource(Protocol):
    """The source of the events; in the application, the reader of the event log."""

    def events_of(
        self, session: str, kinds: Iterable[str], after: int, until: int, limit: int
    ) -> list[dict[str, Any]]: ...

    def find_blob(self, blob: str) -> bytes | None: ...


class HistoryScan(QObject):
    """Collects the history of a session in `past`.

    `changed` is emitted while it grows; `done` becomes true when everything has been read.
    """

    changed = Signal()

    def __init__(
        self, rows: HistorySource, kinds: tuple[str, ...] = ACTIVITY_KINDS, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._rows = rows
        self._kinds = kinds
        self._session = ""
        self._read_until = 0
        self._until = 0
        self._notified_at = 0.0
        self.past = SessionActivity()
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self._read_slice)

    @property
    def done(self) -> bool:
        return self._read_until >= self._until

    @property
    def session(self) -> str:
        return self._session

    @property
    def fraction(self) -> float:
        """The part of the session's events that has been read so far, from 0 to 1."""
        return self._read_until / self._until if self._until else 1.0

    def follow(self, session: str, until: int) -> None:
        """Read a session up to event `until`. For the same session, continue after the events that have been read."""
        if session != self._session:
            self._session = session
            self._read_until = 0
            self.past = SessionActivity()
            self.changed.emit()
        self._until = until
        if not self.done and not self._timer.isActive():
            self._timer.start(START_MS if self._read_until == 0 else PAUSE_MS)

    def stop(self) -> None:
        """Stop reading. Called before the event log is closed."""
        self._timer.stop()

    def finish(self) -> None:
        """Read all remaining events at once, for screenshots and tests."""
        while not self.done:
            self._run_query()
        while not self.past.all_compared:
            self.past.compare_next(self._rows.find_blob)
        self._timer.stop()
        self.changed.emit()

    def _read_slice(self) -> None:
        """Read events for the duration of a slice, then schedule the next slice or report that all has been read."""
        started = perf_counter()
        found_events = False
        while not self.done and perf_counter() - started < BUDGET_S:
            found_events |= self._run_query()
        while self.done and not self.past.all_compared and perf_counter() - started < BUDGET_S:
            self.past.compare_next(self._rows.find_blob)
        if self.done and self.past.all_compared:
            self._notify()
            return
        self._timer.start(PAUSE_MS)
        if (found_events or self.done) and perf_counter() - self._notified_at > SIGNAL_INTERVAL_S:
            self._notify()

    def _notify(self) -> None:
        self._notified_at = perf_counter()
        self.changed.emit()

    def _run_query(self) -> bool:
        """Run one query; return whether it returned events."""
        until = min(self._until, self._read_until + EVENTS_PER_QUERY)
        rows = self._rows.events_of(self._session, self._kinds, self._read_until, until, MAX_RESULTS)
        self.past.apply(rows)
        self._read_until = rows[-1]["seq"] if len(rows) == MAX_RESULTS else until
        return bool(rows)
