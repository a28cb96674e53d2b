"""The window before anything is in it: its place, its ground, its end. Light, for the first paint."""

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtGui import QCloseEvent, QColor, QPaintEvent, QPalette, QResizeEvent
from PySide6.QtWidgets import QMainWindow, QWidget

from ui.theme import Theme
from ui.window_state import WindowState

SIZE: Final = (1440, 900)
TITLE_BAR: Final = 28  # what a window manager adds above us
SIDEBAR: Final = 264


class Shell(QMainWindow):
    """Shown first and filled afterwards. It never closes by itself: it hides, and says so, if it `may_close`."""

    closing = Signal()

    def __init__(self, theme: Theme, state: WindowState) -> None:
        super().__init__()
        self._state = state
        self.painted = False
        self.may_close: Callable[[], bool] = lambda: True
        # Palettes, not a painter: its first stroke loads enumerations that take longer than all of this.
        self._sidebar, self._edge = _ground(self, theme.panel), _ground(self, theme.line)
        self.setPalette(_filled(theme.background))
        self.setObjectName("window")
        self.setWindowTitle("Journeyman")
        room = self.screen().availableGeometry()
        self.resize(min(SIZE[0], room.width()), min(SIZE[1], room.height() - TITLE_BAR))
        geometry = state.blob("geometry")
        if not geometry.isEmpty():
            self.restoreGeometry(geometry)

    def fill(self, content: QWidget) -> None:
        """What was to come is there."""
        for ground in (self._sidebar, self._edge):
            ground.hide()
        self.setPalette(QPalette())  # from now on as the application is dressed
        self.setCentralWidget(content)

    def keep_place(self) -> None:
        self._state.keep_blob("geometry", self.saveGeometry())

    def leave(self) -> None:
        """Hidden at once; the program ends when the journal is safe."""
        self.closing.emit()
        self.hide()

    # Qt

    def paintEvent(self, event: QPaintEvent) -> None:
        self.painted = True
        super().paintEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        left = int(self._state.number("sidebar_width", SIDEBAR))
        self._sidebar.setGeometry(0, 0, left, self.height())
        self._edge.setGeometry(left, 0, 1, self.height())

    def closeEvent(self, event: QCloseEvent) -> None:
        event.ignore()
        if self.may_close():
            self.leave()


def _ground(inside: QWidget, colour: QColor) -> QWidget:
    made = QWidget(inside)
    made.setAutoFillBackground(True)
    made.setPalette(_filled(colour))
    return made


def _filled(colour: QColor) -> QPalette:
    palette = QPalette()
    palette.setColor(QPalette.ColorRole.Window, colour)
    return palette
