"""A part that paints itself, in a look that may become another."""

from PySide6.QtWidgets import QWidget

from ui.theme import Look


class Painted(QWidget):
    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look

    def restyle(self, look: Look) -> None:
        self._look = look
        self.updateGeometry()
        self.update()
