"""A row that says what was removed, with a button that undoes it."""

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout

from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.labels import allow_breaks, label


class UndoRow(QFrame):
    """Hidden until something was removed. The object names of its widgets begin with `page`."""

    undo_requested = Signal()

    def __init__(self, look: Look, page: str, text_name: str) -> None:
        super().__init__()
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
        """Say what was removed."""
        self._text.setText(allow_breaks(visible(text)))
        self.show()
