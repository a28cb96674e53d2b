"""Makes the focused widget visible while the user works by keyboard."""

from typing import Final

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent, QPalette, QWindow
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QFrame, QWidget
from shiboken6 import isValid

from ui.widgets.labels import TextField
from ui.widgets.paint import draw_frame

KEY_EVENTS: Final = (QEvent.Type.ShortcutOverride, QEvent.Type.KeyPress)
POINTER_EVENTS: Final = (QEvent.Type.MouseButtonPress, QEvent.Type.TouchBegin, QEvent.Type.TabletPress)
MODIFIERS: Final = (Qt.Key.Key_Shift, Qt.Key.Key_Control, Qt.Key.Key_Alt, Qt.Key.Key_AltGr, Qt.Key.Key_Meta)
VISIBLE_FOCUS: Final = Qt.WidgetAttribute.WA_KeyboardFocusChange


class KeyboardFocus(QObject):
    """Shows the focus in all windows of the application, unless a click was the last input.

    Qt itself shows it only after Tab, and hides it when a shortcut moves the focus. Lists, texts and other areas, which
    Qt does not mark at all, get a frame.
    """

    def __init__(self, app: QApplication, parent: QObject) -> None:
        super().__init__(parent)
        self._by_keyboard = False
        self._frame: FocusFrame | None = None
        app.focusChanged.connect(self._focus_changed)
        app.focusWindowChanged.connect(self._watch)
        self._watch(app.focusWindow())

    def _watch(self, window: QWindow | None) -> None:
        if window is not None:
            window.installEventFilter(self)

    def _focus_changed(self, _: QWidget | None, focused: QWidget | None) -> None:
        self._show_focus(focused)

    def _set_by_keyboard(self, by_keyboard: bool) -> None:
        if by_keyboard == self._by_keyboard:
            return
        self._by_keyboard = by_keyboard
        if focused := QApplication.focusWidget():
            focused.window().setAttribute(VISIBLE_FOCUS, by_keyboard)
            self._show_focus(focused)

    def _show_focus(self, focused: QWidget | None) -> None:
        if self._frame is not None and isValid(self._frame):
            self._frame.hide()
            self._frame.deleteLater()
        self._frame = None
        if focused is None:
            return
        is_visible = self._by_keyboard or focused.window().testAttribute(VISIBLE_FOCUS)
        focused.window().setAttribute(VISIBLE_FOCUS, is_visible)
        (focused.viewport() if isinstance(focused, QAbstractScrollArea) else focused).update()
        if is_visible and _needs_frame(focused):
            self._frame = FocusFrame(focused)

    # Overridden Qt methods

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in POINTER_EVENTS:
            self._set_by_keyboard(False)
        elif event.type() in KEY_EVENTS and isinstance(event, QKeyEvent) and event.key() not in MODIFIERS:
            self._set_by_keyboard(True)
        return False


def _needs_frame(widget: QWidget) -> bool:
    """Return whether nothing else marks the widget as focused. The frames around text fields are marked."""
    if isinstance(widget, TextField):
        return widget.isReadOnly()
    return isinstance(widget, QFrame) and not widget.isWindow()


class FocusFrame(QWidget):
    """A frame inside the edges of a widget. In a scroll area it does not scroll with the content."""

    def __init__(self, framed: QWidget) -> None:
        super().__init__(framed)
        self.setObjectName(f"{framed.objectName()}.focus")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setGeometry(framed.rect())
        framed.installEventFilter(self)
        self.show()
        self.raise_()

    # Overridden Qt methods

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and isinstance(watched, QWidget):
            self.setGeometry(watched.rect())
        return False

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            draw_frame(painter, self.rect(), 2, None, self.palette().color(QPalette.ColorRole.Link))
