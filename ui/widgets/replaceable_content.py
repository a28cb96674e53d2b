"""A container whose content can be replaced without losing the keyboard focus."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from ui.widgets.focus_order import tab_stops


class ReplaceableContent(QWidget):
    """A container that replaces its content and then focuses the new widget with the same object name.

    If there is none, the next control of the same row that still exists gets the focus, or else the nearest control.
    """

    def __init__(self) -> None:
        super().__init__()
        self._shown = QWidget()
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.addWidget(self._shown)

    def replace_content(self, content: QWidget) -> None:
        """Replace the content. The old widget is deleted later, because one of its buttons may be calling this."""
        successors = self._focus_successors()
        self._column.replaceWidget(self._shown, content)
        self._shown.hide()
        self._shown.deleteLater()
        self._shown = content
        content.show()
        for name in successors:
            if (part := content.findChild(QWidget, name)) and part.isEnabled() and not part.isHidden():
                part.setFocus(Qt.FocusReason.OtherFocusReason)
                break

    def _focus_successors(self) -> list[str]:
        """Return the object names of the focused control and of its possible successors, best first.

        [] without a focus.
        """
        focused: QWidget | None = self.window().focusWidget()
        if focused is None or not self._shown.isAncestorOf(focused):
            return []
        controls = tab_stops(self._shown)
        if focused not in controls:
            return [focused.objectName()]
        index = controls.index(focused)
        others = [*controls[index + 1 :], *reversed(controls[:index])]
        others.sort(key=lambda part: part.parentWidget() is not focused.parentWidget())
        return [part.objectName() for part in (focused, *others) if part.objectName()]


def show_in_stack(panel: QWidget, stack: QStackedWidget, shown: QWidget, focus: QWidget | None = None) -> None:
    """Show a widget in the stack of a panel, and make the panel pass its focus to `focus`, or else to this widget.

    A hidden widget would keep the focus, and Tab could not leave it.
    """
    focused: QWidget | None = panel.window().focusWidget()
    had_focus = focused is not None and stack.isAncestorOf(focused)
    panel.setFocusProxy(focus or shown)
    if shown is not stack.currentWidget():
        stack.setCurrentWidget(shown)
        if had_focus:
            panel.setFocus()
