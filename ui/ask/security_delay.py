"""A short delay before a permission request can be allowed, as a protection from accidental clicks and key presses."""

from typing import Final

from PySide6.QtCore import QEvent, QObject, QTimer, Signal
from PySide6.QtWidgets import QWidget

DELAY_MS: Final = 600


class SecurityDelay(QObject):
    """A delay that starts again when the widget `over` is shown or enabled, or its window becomes active.

    It does not start again when `over` receives the focus: the user, who presses Ctrl+J to go to the request, would
    have to wait after each press.
    """

    elapsed_changed = Signal(bool)

    def __init__(self, over: QWidget) -> None:
        super().__init__(over)
        self._over = over
        self._window: QWidget | None = None
        self._timer = QTimer(self, singleShot=True, interval=DELAY_MS)
        self._timer.timeout.connect(lambda: self._set_elapsed(True))
        self.has_elapsed = False
        over.installEventFilter(self)

    def restart(self) -> None:
        """Start the delay again because the content of the request has changed."""
        self._set_elapsed(False)
        self._timer.start()

    def _set_elapsed(self, has_elapsed: bool) -> None:
        self.has_elapsed = has_elapsed
        self.elapsed_changed.emit(has_elapsed)

    def _watch_window(self) -> None:
        """Watch when the window of the widget becomes active, instead of a window that it was in before."""
        window = self._over.window()
        if window is not self._window:
            if self._window is not None and self._window is not self._over:
                self._window.removeEventFilter(self)
            self._window = window
            if window is not self._over:
                window.installEventFilter(self)

    # Overridden Qt methods

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.WindowActivate:
            self.restart()
        elif watched is self._over:
            match event.type():
                case QEvent.Type.Show:
                    self._watch_window()
                    self.restart()
                case QEvent.Type.EnabledChange:
                    self.restart()
                case QEvent.Type.Hide:
                    self._timer.stop()
                    self._set_elapsed(False)
                case _:
                    pass
        return super().eventFilter(watched, event)
