"""The button above the end of the steps that shows how many new ones there are and scrolls to them."""

from PySide6.QtCore import QRect
from PySide6.QtWidgets import QWidget

from ui.style.theme import Look
from ui.widgets.button import Button

BOTTOM_MARGIN = 14


class JumpToLatestButton(Button):
    """A button that floats above the bottom of `area` while there are new steps that the user has not scrolled to."""

    def __init__(self, look: Look, parent: QWidget) -> None:
        super().__init__(look, self.tr("Jump to latest"), name="timeline.latest", icon="arrow-down", parent=parent)
        self._area = QRect()
        self.hide()

    def show_count(self, new_rows: int) -> None:
        """Show how many steps are new; 0 hides the button."""
        if new_rows:
            self.setText(self.tr("%n new · Jump to latest", "", new_rows))
            self.setAccessibleName(self.text())
            self.place(self._area)
        self.setVisible(new_rows > 0)

    def place(self, area: QRect) -> None:
        """Place the button above the bottom of an area of its parent."""
        self._area = area
        self.resize(self.sizeHint())
        self.move(area.center().x() - self.width() // 2, area.bottom() - self.height() - BOTTOM_MARGIN)
