"""A base class for widgets with shortcuts that override those of the window while the widget has the focus."""

from collections.abc import Callable, Mapping

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QApplication, QFrame


class LocalShortcuts(QFrame):
    """A widget whose `local_shortcuts` take precedence over shortcuts of the window.

    If two shortcuts are ambiguous, Qt activates neither. Therefore, the keys are handled in ShortcutOverride and
    keyPressEvent.
    """

    local_shortcuts: Mapping[str, Callable[[], object]] = {}

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride and self._handler(event):
            focused = QApplication.focusWidget()
            if focused is not None and focused.testAttribute(Qt.WidgetAttribute.WA_InputMethodEnabled):
                _KeyInterceptor(focused, self)
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if handler := self._handler(event):
            handler()
            event.accept()
        else:
            super().keyPressEvent(event)

    def _handler(self, event: QKeyEvent) -> Callable[[], object] | None:
        return self.local_shortcuts.get(QKeySequence(event.keyCombination()).toString())


class _KeyInterceptor(QObject):
    """Passes the next key of a text field to its page, because the field would insert the digit of Alt+1."""

    def __init__(self, field: QObject, page: LocalShortcuts) -> None:
        super().__init__(page)
        self._page = page
        field.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not isinstance(event, QKeyEvent) or event.type() != QEvent.Type.KeyPress:
            return False
        watched.removeEventFilter(self)
        self.deleteLater()
        self._page.keyPressEvent(event)
        return True
