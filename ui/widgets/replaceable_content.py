"""Content that can be replaced without losing the keyboard focus."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget


class ReplaceableContent(QWidget):
    """A container that replaces its content. The focus moves to the new widget with the same object name."""

    def __init__(self) -> None:
        super().__init__()
        self._shown = QWidget()
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.addWidget(self._shown)

    def replace_content(self, content: QWidget) -> None:
        """Replace the content. The old widget is deleted later, because the caller may be one of its buttons."""
        focused = next((part.objectName() for part in self._shown.findChildren(QWidget) if part.hasFocus()), "")
        self._column.replaceWidget(self._shown, content)
        self._shown.hide()
        self._shown.deleteLater()
        self._shown = content
        content.show()
        if focused and (same_field := content.findChild(QWidget, focused)):
            same_field.setFocus(Qt.FocusReason.OtherFocusReason)


def show_in_stack(panel: QWidget, stack: QStackedWidget, shown: QWidget, focus: QWidget | None = None) -> None:
    """Show a widget in the stack of a panel; from now on the panel passes its focus to `focus`, or else to this widget.

    A hidden widget would keep the focus, and Tab could not leave it.
    """
    focused: QWidget | None = panel.window().focusWidget()
    had_focus = focused is not None and stack.isAncestorOf(focused)
    panel.setFocusProxy(focus or shown)
    if shown is not stack.currentWidget():
        stack.setCurrentWidget(shown)
        if had_focus:
            panel.setFocus()
