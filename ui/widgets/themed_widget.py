"""A base class for custom-painted widgets that can switch themes."""

from PySide6.QtWidgets import QWidget

from ui.style.theme import Look


class ThemedWidget(QWidget):
    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look

    def restyle(self, look: Look) -> None:
        self._look = look
        self.updateGeometry()
        self.update()
