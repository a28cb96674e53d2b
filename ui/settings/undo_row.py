"""A row with a text about what was removed, and a button that undoes the removal."""

from collections.abc import Sequence
from typing import NamedTuple

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout

from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.labels import allow_breaks, label


class Removal(NamedTuple):
    """A removal that can be undone: the key of what was removed, and a text that describes it."""

    key: str
    text: str


class UndoRow(QFrame):
    """Offers to undo removals, the latest one first. It is hidden if there is none to undo.

    Each removal is identified by the key of what was removed. The object names of the widgets begin with `page`.
    """

    undo_requested = Signal(str)  # the key of the latest removal

    def __init__(self, look: Look, page: str, text_name: str) -> None:
        super().__init__()
        self._offered: list[Removal] = []
        self.setProperty("surface", "well")
        self._text = label("", look.fonts.text, name=f"{page}.{text_name}", wrap=True)
        button = Button(look, QCoreApplication.translate("settings", "Undo"), name=f"{page}.undo", icon="undo-2")
        button.clicked.connect(lambda: self.undo_requested.emit(self._offered[-1].key))
        self.setFocusProxy(button)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 4, 8, 4)
        row.addWidget(self._text, 1)
        row.addWidget(button)
        self.hide()

    def show_offers(self, offers: Sequence[Removal]) -> None:
        """Offer to undo these removals instead of those before."""
        self._offered = list(offers)
        self._show_last()

    def offer(self, key: str, text: str) -> None:
        """Offer to undo a removal, which `text` describes."""
        self._offered.append(Removal(key, text))
        self._show_last()

    def withdraw(self, key: str) -> None:
        """Stop offering to undo the latest removal of `key`; do nothing if that is not offered."""
        for index in reversed(range(len(self._offered))):
            if self._offered[index].key == key:
                del self._offered[index]
                break
        self._show_last()

    def _show_last(self) -> None:
        if self._offered:
            self._text.setText(allow_breaks(visible(self._offered[-1].text)))
        self.setVisible(bool(self._offered))
