"""A row with a label and buttons. If it is too narrow, the buttons show only their icons."""

from typing import Final

from PySide6.QtCore import QEvent, QMargins
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from ui.widgets.button import Button
from ui.widgets.elided import ElidedLabel

NO_MARGINS: Final = QMargins(0, 0, 0, 0)
LABEL_WIDTH: Final = 12  # average characters of the elided label that always stay visible


class CompactRow(QWidget):
    """A row with margins. The caller adds its widgets to the layout `row`."""

    def __init__(self, margins: QMargins = NO_MARGINS, *, spacing: int = 6) -> None:
        super().__init__()
        self.row = QHBoxLayout(self)
        self.row.setContentsMargins(margins)
        self.row.setSpacing(spacing)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:  # a widget in the row has been shown, hidden or renamed
            self._fit()
        return super().event(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        parts = [item.widget() for index in range(self.row.count()) if (item := self.row.itemAt(index))]
        shown = [part for part in parts if part and not part.isHidden()]
        margins = self.row.contentsMargins()
        available = self.width() - margins.left() - margins.right() - self.row.spacing() * (len(shown) - 1)
        icon_only = sum(map(_full_width, shown)) > available
        for part in parts:
            if isinstance(part, Button) and part.has_icon():
                part.set_icon_only(icon_only)


def _full_width(part: QWidget) -> int:
    """Return the width that a part of the row needs while the buttons show their texts."""
    if isinstance(part, Button):
        return part.full_width()
    width = part.sizeHint().width()
    if isinstance(part, ElidedLabel):
        return min(width, LABEL_WIDTH * part.fontMetrics().averageCharWidth())
    return width
