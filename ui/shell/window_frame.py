"""The top-level window without its contents: geometry, background and closing. Few imports, for a fast first paint."""

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QCloseEvent, QColor, QKeyEvent, QPaintEvent, QPalette, QResizeEvent
from PySide6.QtWidgets import QMainWindow, QWidget

from ui.base.window_state import WindowState
from ui.style.theme import Theme

SIZE: Final = (1440, 900)
TITLE_BAR: Final = 28  # height of the window manager's title bar
SIDEBAR: Final = 264


class WindowFrame(QMainWindow):
    """The window, which is first shown empty, and filled afterwards.

    On a close request it emits `closing` and hides, if `may_close` returns true; the application then exits.
    """

    closing = Signal()

    def __init__(self, theme: Theme, state: WindowState) -> None:
        super().__init__()
        self._state = state
        self.painted = False
        self.may_close: Callable[[], bool] = lambda: True
        # Uses palettes, because the first use of QPainter loads enumerations, which would take longer than all this.
        self._sidebar = _create_background(self, theme.panel)
        self._edge = _create_background(self, theme.line)
        self.setPalette(_filled(theme.background))
        self.setObjectName("window")
        self.setWindowTitle("Journeyman")
        room = self.screen().availableGeometry()
        self.resize(min(SIZE[0], room.width()), min(SIZE[1], room.height() - TITLE_BAR))
        geometry = state.blob("geometry")
        if not geometry.isEmpty():
            self.restoreGeometry(geometry)

    def set_content(self, content: QWidget) -> None:
        """Replace the placeholder background with the contents of the window."""
        for ground in (self._sidebar, self._edge):
            ground.hide()
        self.setPalette(QPalette())  # back to the palette of the application
        self.setCentralWidget(content)

    def save_geometry(self) -> None:
        self._state.set_blob("geometry", self.saveGeometry())

    def shut_down(self) -> None:
        """Hide the window at once; the process exits after the event log has been written."""
        self.closing.emit()
        self.hide()

    # Qt overrides

    def paintEvent(self, event: QPaintEvent) -> None:
        self.painted = True
        super().paintEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        sidebar_width = int(self._state.number("sidebar_width", SIDEBAR))
        self._sidebar.setGeometry(0, 0, sidebar_width, self.height())
        self._edge.setGeometry(sidebar_width, 0, 1, self.height())

    def event(self, event: QEvent) -> bool:
        """Note that the window is used by keyboard: the focus of a dialog that a shortcut opens must be visible.

        Qt notes it only for Tab. A click elsewhere resets it, and a text field does not pass on the keys that it types.
        """
        if event.type() == QEvent.Type.ShortcutOverride:
            self.setAttribute(Qt.WidgetAttribute.WA_KeyboardFocusChange)
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        from ui.shell.window_keys import handle_key  # loads enumerations, which would delay the first paint

        if not handle_key(self.focusWidget(), event):
            super().keyPressEvent(event)

    def closeEvent(self, event: QCloseEvent) -> None:
        event.ignore()
        if self.may_close():
            self.shut_down()


def _create_background(parent: QWidget, color: QColor) -> QWidget:
    background = QWidget(parent)
    background.setAutoFillBackground(True)
    background.setPalette(_filled(color))
    return background


def _filled(color: QColor) -> QPalette:
    palette = QPalette()
    palette.setColor(QPalette.ColorRole.Window, color)
    return palette
