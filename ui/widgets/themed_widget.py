"""A base class for custom-painted widgets that can switch themes."""

from typing import ClassVar

from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QWidget

from ui.style.theme import Look


class ThemedWidget(QWidget):
    """A custom-painted widget. Its accessible name is the text that it paints."""

    accessible_role: ClassVar[QAccessible.Role | None] = QAccessible.Role.StaticText

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look

    def restyle(self, look: Look) -> None:
        self._look = look
        self.updateGeometry()
        self.update()
