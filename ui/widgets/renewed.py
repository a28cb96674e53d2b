"""A place whose content is made anew, again and again; the keyboard stays on the part it was on."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget


class Renewed(QWidget):
    """Parts are the same when they are called the same."""

    def __init__(self) -> None:
        super().__init__()
        self._shown = QWidget()
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.addWidget(self._shown)

    def show_instead(self, made: QWidget) -> None:
        """The old goes when whoever called, which may be a button of it, is done."""
        held = next((part.objectName() for part in self._shown.findChildren(QWidget) if part.hasFocus()), "")
        self._column.replaceWidget(self._shown, made)
        self._shown.hide()
        self._shown.deleteLater()
        self._shown = made
        made.show()
        if held and (again := made.findChild(QWidget, held)):
            again.setFocus(Qt.FocusReason.OtherFocusReason)
