"""Passes engine updates to the thread of the window in batches, at most 30 a second; urgent updates are not delayed."""

from collections import deque

from PySide6.QtCore import QObject, Qt, QTimer, Signal

INTERVAL_MS = 33


class Feed(QObject):
    """A thread-safe queue. `put` may be called from any thread; `delivered` is emitted in the thread of the window."""

    delivered = Signal(list)
    _wake = Signal(bool)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting: deque[object] = deque()
        self._armed = False
        self._pause = QTimer(self, singleShot=True, interval=INTERVAL_MS)
        self._pause.setTimerType(Qt.TimerType.PreciseTimer)
        self._pause.timeout.connect(self.flush)
        self._wake.connect(self._rouse, Qt.ConnectionType.QueuedConnection)

    def put(self, fact: object, *, urgent: bool = False) -> None:
        self._waiting.append(fact)
        if urgent or not self._armed:
            self._armed = True
            self._wake.emit(urgent)

    def flush(self) -> None:
        """Emit `delivered` for all queued updates now."""
        self._armed = False
        batch = []
        while self._waiting:
            batch.append(self._waiting.popleft())
        if batch:
            self.delivered.emit(batch)

    def _rouse(self, urgent: bool) -> None:
        if urgent:
            self._pause.stop()
            self.flush()
        elif not self._pause.isActive():
            self._pause.start()
