"""Facts from the engine's thread, handed to the window in batches: at most thirty a second, a question at once."""

from collections import deque

from PySide6.QtCore import QObject, Qt, QTimer, Signal

EVERY_MS = 33


class Feed(QObject):
    """`put` may be called from any thread; `told` is emitted in the window's."""

    told = Signal(list)
    _wake = Signal(bool)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting: deque[object] = deque()
        self._armed = False
        self._pause = QTimer(self, singleShot=True, interval=EVERY_MS)
        self._pause.setTimerType(Qt.TimerType.PreciseTimer)
        self._pause.timeout.connect(self.flush)
        self._wake.connect(self._rouse, Qt.ConnectionType.QueuedConnection)

    def put(self, fact: object, *, urgent: bool = False) -> None:
        self._waiting.append(fact)
        if urgent or not self._armed:
            self._armed = True
            self._wake.emit(urgent)

    def flush(self) -> None:
        """Hand over what waits."""
        self._armed = False
        batch = []
        while self._waiting:
            batch.append(self._waiting.popleft())
        if batch:
            self.told.emit(batch)

    def _rouse(self, urgent: bool) -> None:
        if urgent:
            self._pause.stop()
            self.flush()
        elif not self._pause.isActive():
            self._pause.start()
