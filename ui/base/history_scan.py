"""Reads the history of a session (changes, decisions, issues, …) from the event log in small slices."""

from collections.abc import Iterable
from time import perf_counter
from typing import Any, Final, Protocol

from PySide6.QtCore import QObject, QTimer, Signal

from core.timeline.session_activity import ACTIVITY_KINDS, SessionActivity

EVENTS_PER_QUERY: Final = 5_000  # events that one query covers
MAX_RESULTS: Final = 200  # maximum number of events that a query returns
BUDGET_S: Final = 0.006  # time per slice in the window's thread
PAUSE_MS: Final = 8
SIGNAL_INTERVAL_S: Final = 0.2  # shortest interval between two `changed` signals while reading
START_MS: Final = 30  # lets the rows be painted first


class HistorySource(Protocol):
    """The source of events; in the app, the reader of the event log."""

    def events_of(
        self, session: str, kinds: Iterable[str], after: int, until: int, limit: int
    ) -> list[dict[str, Any]]: ...

    def find_blob(self, blob: str) -> bytes | None: ...


class HistoryScan(QObject):
    """Collects the history of a session in `past`; `changed` is emitted as it grows, and `done` is true at the end."""

    changed = Signal()

    def __init__(
        self, rows: HistorySource, kinds: tuple[str, ...] = ACTIVITY_KINDS, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._rows = rows
        self._kinds = kinds
        self._session = ""
        self._seen = 0
        self._until = 0
        self._notified_at = 0.0
        self.past = SessionActivity()
        self._next = QTimer(self, singleShot=True)
        self._next.timeout.connect(self._read)

    @property
    def done(self) -> bool:
        return self._seen >= self._until

    @property
    def session(self) -> str:
        return self._session

    @property
    def fraction(self) -> float:
        """The fraction of the session's events read so far."""
        return self._seen / self._until if self._until else 1.0

    def follow(self, session: str, until: int) -> None:
        """Read a session up to event number `until`; for the same session, continue after the events already read."""
        if session != self._session:
            self._session = session
            self._seen = 0
            self.past = SessionActivity()
            self.changed.emit()
        self._until = until
        if not self.done and not self._next.isActive():
            self._next.start(START_MS if self._seen == 0 else PAUSE_MS)

    def stop(self) -> None:
        """Stop reading, because the event log is about to be closed."""
        self._next.stop()

    def finish(self) -> None:
        """Read the remaining events synchronously, for screenshots and tests."""
        while not self.done:
            self._slice()
        while not self.past.all_compared:
            self.past.compare_next(self._rows.find_blob)
        self._next.stop()
        self.changed.emit()

    def _read(self) -> None:
        """Read and compare for as long as a slice may take, then continue later or report that all is known."""
        started = perf_counter()
        found_events = False
        while not self.done and perf_counter() - started < BUDGET_S:
            found_events |= self._slice()
        while self.done and not self.past.all_compared and perf_counter() - started < BUDGET_S:
            self.past.compare_next(self._rows.find_blob)
        if self.done and self.past.all_compared:
            self._notify()
            return
        self._next.start(PAUSE_MS)
        if (found_events or self.done) and perf_counter() - self._notified_at > SIGNAL_INTERVAL_S:
            self._notify()

    def _notify(self) -> None:
        self._notified_at = perf_counter()
        self.changed.emit()

    def _slice(self) -> bool:
        """Run one query; return whether it found events."""
        until = min(self._until, self._seen + EVENTS_PER_QUERY)
        rows = self._rows.events_of(self._session, self._kinds, self._seen, until, MAX_RESULTS)
        self.past.apply(rows)
        self._seen = rows[-1]["seq"] if len(rows) == MAX_RESULTS else until
        return bool(rows)
