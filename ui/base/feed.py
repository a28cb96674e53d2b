"""Passes engine updates to the thread of the window in batches, at most 30 a second; urgent updates are not delayed."""

from collections import deque

from PySide6.QtCore import QObject, Qt, QTimer, Signal

INTERVAL_MS = 33


class Feed(QObject):
    """A thread-safe queue. `put` may be called from any thread; `delivered` is emitted in the thread of the window."""

    delivered = Signal(list)
    _flush_requested = Signal(bool)  # whether the flush is urgent

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._queue: deque[object] = deque()
        self._flush_is_requested = False
        self._flush_timer = QTimer(self, singleShot=True, interval=INTERVAL_MS)
        self._flush_timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._flush_timer.timeout.connect(self.flush)
        self._flush_requested.connect(self._schedule_flush, Qt.ConnectionType.QueuedConnection)

    def put(self, update: object, *, urgent: bool = False) -> None:
        self._queue.append(update)
        if urgent or not self._flush_is_requested:
            self._flush_is_requested = True
            self._flush_requested.emit(urgent)

    def flush(self) -> None:
        """Emit `delivered` for all queued updates now."""
        self._flush_is_requested = False
        batch = []
        while self._queue:
            batch.append(self._queue.popleft())
        if batch:
            self.delivered.emit(batch)

    def _schedule_flush(self, urgent: bool) -> None:
        if urgent:
            self._flush_timer.stop()
            self.flush()
        elif not self._flush_timer.isActive():
            self._flush_timer.start()
