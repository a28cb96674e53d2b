"""The window before anything is in it: its place, its ground, its end. Light, for the first paint."""

from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtGui import QCloseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QMainWindow

from ui.theme import Theme
from ui.window_state import WindowState

SIZE: Final = (1440, 900)
TITLE_BAR: Final = 28  # what a window manager adds above us
SIDEBAR: Final = 264


class Shell(QMainWindow):
    """Shown first and filled afterwards. It never closes by itself: it hides, and says so."""

    closing = Signal()

    def __init__(self, theme: Theme, state: WindowState) -> None:
        super().__init__()
        self._theme, self._state = theme, state
        self.painted = False
        self.setObjectName("window")
        self.setWindowTitle("Journeyman")
        room = self.screen().availableGeometry()
        self.resize(min(SIZE[0], room.width()), min(SIZE[1], room.height() - TITLE_BAR))
        geometry = state.blob("geometry")
        if not geometry.isEmpty():
            self.restoreGeometry(geometry)

    def restyle(self, theme: Theme) -> None:
        self._theme = theme
        self.update()

    def keep_place(self) -> None:
        self._state.keep_blob("geometry", self.saveGeometry())

    # Qt

    def paintEvent(self, event: QPaintEvent) -> None:
        """The ground of what is about to come."""
        self.painted = True
        painter = QPainter(self)
        painter.fillRect(event.rect(), self._theme.background)
        if self.centralWidget() is None:
            left = int(self._state.number("sidebar_width", SIDEBAR))
            painter.fillRect(0, 0, left, self.height(), self._theme.panel)
            painter.fillRect(left, 0, 1, self.height(), self._theme.line)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Hidden at once; the program ends when the journal is safe."""
        event.ignore()
        self.closing.emit()
        self.hide()
