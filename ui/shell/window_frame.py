"""The top-level window without its contents: geometry, background and closing.

It imports little, so that the window is painted soon after the start.
"""

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QCloseEvent, QColor, QKeyEvent, QPaintEvent, QPalette, QResizeEvent
from PySide6.QtWidgets import QMainWindow, QWidget

from ui.base.window_state import WindowState
from ui.style.theme import Theme

WIDTH: Final = 1440
HEIGHT: Final = 900
TITLE_BAR: Final = 28  # height in pixels of the window manager's title bar
SIDEBAR: Final = 264


class WindowFrame(QMainWindow):
    """The window. It is first shown empty, and filled afterwards.

    When the user wants to close it and `may_close` returns true, it hides and emits `closing`; the application then
    exits. `painted` becomes true with the first paint.
    """

    closing = Signal()

    def __init__(self, theme: Theme, state: WindowState) -> None:
        super().__init__()
        self._state = state
        self.painted = False
        self.may_close: Callable[[], bool] = lambda: True
        # Palettes draw the background, because the first use of QPainter loads enumerations, which takes much longer.
        self._sidebar = _create_background(self, theme.panel)
        self._sidebar_edge = _create_background(self, theme.line)
        self.setPalette(_background_palette(theme.background))
        self.setObjectName("window")
        self.setWindowTitle("Journeyman")
        available = self.screen().availableSize()
        self.resize(min(WIDTH, available.width()), min(HEIGHT, available.height() - TITLE_BAR))
        geometry = state.blob("geometry")
        if not geometry.isEmpty():
            self.restoreGeometry(geometry)

    def set_content(self, content: QWidget) -> None:
        """Replace the placeholder background with the contents of the window."""
        self._sidebar.hide()
        self._sidebar_edge.hide()
        self.setPalette(QPalette())  # restores the palette of the application
        self.setCentralWidget(content)

    def save_geometry(self) -> None:
        self._state.set_blob("geometry", self.saveGeometry())

    def shut_down(self) -> None:
        """Hide the window at once. The process exits later, after the event log has been written."""
        self.closing.emit()
        self.hide()

    def _leave_unusable_widget(self) -> None:
        """Move the focus on if its widget is still hidden or disabled, because no other widget has taken the focus."""
        if not self._focus_is_usable():
            super().focusNextPrevChild(True)

    def _focus_is_usable(self) -> bool:
        focused: QWidget | None = self.focusWidget()
        return focused is not None and focused.isVisible() and focused.isEnabled()

    # Overridden Qt methods

    def focusNextPrevChild(self, next: bool) -> bool:
        """Move the focus, but only in the next turn of the event loop if its widget has been hidden or disabled.

        Qt would move it at once to the next widget, which screen readers would read, and the code that hides a widget
        then moves it to another one.
        """
        if self._focus_is_usable():
            return super().focusNextPrevChild(next)
        QTimer.singleShot(0, self, self._leave_unusable_widget)
        return True

    def paintEvent(self, event: QPaintEvent) -> None:
        self.painted = True
        super().paintEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        sidebar_width = int(self._state.number("sidebar_width", SIDEBAR))
        self._sidebar.setGeometry(0, 0, sidebar_width, self.height())
        self._sidebar_edge.setGeometry(sidebar_width, 0, 1, self.height())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        # Imported late: it loads enumerations, which would delay the first paint.
        from ui.shell.window_keys import handle_key

        if not handle_key(self.focusWidget(), event):
            super().keyPressEvent(event)

    def closeEvent(self, event: QCloseEvent) -> None:
        event.ignore()
        if self.may_close():
            self.shut_down()


def _create_background(parent: QWidget, color: QColor) -> QWidget:
    background = QWidget(parent)
    background.setAutoFillBackground(True)
    background.setPalette(_background_palette(color))
    return background


def _background_palette(color: QColor) -> QPalette:
    palette = QPalette()
    palette.setColor(QPalette.ColorRole.Window, color)
    return palette
