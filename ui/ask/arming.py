"""The moment in which nothing can be allowed: a click or a key that was meant for something else must not be a yes."""

from typing import Final

from PySide6.QtCore import QEvent, QObject, QTimer, Signal
from PySide6.QtWidgets import QWidget

WAIT_MS: Final = 600


class Arming(QObject):
    """Begins anew whenever `over` appears, or its window or one of its parts is given the keyboard from elsewhere."""

    armed = Signal(bool)

    def __init__(self, over: QWidget) -> None:
        super().__init__(over)
        self._over = over
        self._window: QWidget | None = None
        self._wait = QTimer(self, singleShot=True, interval=WAIT_MS)
        self._wait.timeout.connect(lambda: self._tell(True))
        self.is_armed = False
        over.installEventFilter(self)

    def restart(self) -> None:
        """What is asked has just changed, or has only now been seen."""
        self._tell(False)
        self._wait.start()

    def _tell(self, armed: bool) -> None:
        self.is_armed = armed
        self.armed.emit(armed)

    def _watch_window(self) -> None:
        window = self._over.window()
        if window is not self._window:
            if self._window is not None and self._window is not self._over:
                self._window.removeEventFilter(self)
            self._window = window
            if window is not self._over:
                window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind == QEvent.Type.WindowActivate:
            self.restart()
        elif watched is self._over:
            if kind == QEvent.Type.Show:
                self._watch_window()
                self.restart()
            elif kind in (QEvent.Type.FocusIn, QEvent.Type.EnabledChange):
                self.restart()
            elif kind == QEvent.Type.Hide:
                self._wait.stop()
                self._tell(False)
        return super().eventFilter(watched, event)
