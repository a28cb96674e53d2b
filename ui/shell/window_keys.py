"""Keys that the window handles for the focused widget: Enter clicks a button, Shift+F10 opens a context menu."""

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QContextMenuEvent, QKeyEvent
from PySide6.QtWidgets import QAbstractButton, QCheckBox, QWidget


def handle_key(focused: QWidget | None, event: QKeyEvent) -> bool:
    """Handle a key that the focused widget has ignored; return whether the key was handled."""
    if focused is None:
        return False
    if event.key() == Qt.Key.Key_F10 and event.modifiers() == Qt.KeyboardModifier.ShiftModifier:
        _open_context_menu(focused)
        return True
    is_enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
    if not is_enter or not isinstance(focused, QAbstractButton) or isinstance(focused, QCheckBox):
        return False
    if not event.isAutoRepeat():
        focused.click()  # Qt itself does this only in dialogs
    return True


def _open_context_menu(focused: QWidget) -> None:
    """Open the context menu of a widget at its cursor or current item, as Qt does for the menu key."""
    position = focused.inputMethodQuery(Qt.InputMethodQuery.ImCursorRectangle).center()
    request = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, position, focused.mapToGlobal(position))
    QCoreApplication.sendEvent(focused, request)
