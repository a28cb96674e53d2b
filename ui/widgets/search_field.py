"""A search field with a magnifier icon. Keys move the focus from it to the list that it filters."""

from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit

from ui.style.icons import icon
from ui.style.theme import Look
from ui.widgets.labels import ENTER_KEYS

LIST_KEYS: Final = ENTER_KEYS | {Qt.Key.Key_Down}


class SearchField(QLineEdit):
    """A search field. Esc clears it; Down, Enter, and Esc in the empty field emit `list_requested`."""

    list_requested = Signal()

    def __init__(self, look: Look, placeholder: str, *, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setPlaceholderText(placeholder)
        self.setAccessibleName(placeholder)
        self.setClearButtonEnabled(True)
        self._search_icon = self.addAction(icon("search", look.theme.third), QLineEdit.ActionPosition.LeadingPosition)
        self.restyle(look)

    def restyle(self, look: Look) -> None:
        self.setFont(look.fonts.text)
        self._search_icon.setIcon(icon("search", look.theme.third))

    # Overridden Qt methods

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
        elif event.key() in LIST_KEYS or event.key() == Qt.Key.Key_Escape:
            self.list_requested.emit()
        else:
            super().keyPressEvent(event)
            return
        event.accept()
