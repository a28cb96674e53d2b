"""A row with a text about what was removed, and a button that undoes the removal."""

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout

from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.labels import allow_breaks, label


class UndoRow(QFrame):
    """Offers to undo removals, the latest one first. It is hidden if there is none to undo.

    The object names of its widgets begin with `page`.
    """

    undo_requested = Signal()

    def __init__(self, look: Look, page: str, text_name: str) -> None:
        super().__init__()
        self._offered: list[str] = []
        self.setProperty("surface", "well")
        self._text = label("", look.fonts.text, name=f"{page}.{text_name}", wrap=True)
        button = Button(look, QCoreApplication.translate("settings", "Undo"), name=f"{page}.undo", icon="undo-2")
        button.clicked.connect(self.undo_requested)
        self.setFocusProxy(button)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 4, 8, 4)
        row.addWidget(self._text, 1)
        row.addWidget(button)
        self.hide()

    def offer(self, text: str) -> None:
        """Offer to undo a removal, which `text` describes."""
        self._offered.append(text)
        self._show_last()

    def withdraw(self) -> None:
        """Stop offering to undo the latest removal, because that was done; offer to undo the one before, if any."""
        del self._offered[-1:]
        self._show_last()

    def _show_last(self) -> None:
        if self._offered:
            self._text.setText(allow_breaks(visible(self._offered[-1])))
        self.setVisible(bool(self._offered))
