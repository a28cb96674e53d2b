"""A column of widgets with a scroll area that shrinks if there is too little height for everything."""

from PySide6.QtCore import QRect
from PySide6.QtWidgets import QLayoutItem, QVBoxLayout, QWidget

from ui.widgets.fitting_scroll_area import FittingScrollArea


class ScrollColumn(QVBoxLayout):
    """A column in which only the scroll area shrinks, so that the widgets below it are never cut off.

    It has no margins by default; `least_height` does not include them. A plain box layout would shrink all widgets,
    because it takes the height that a widget needs for its width as its minimum.
    """

    def __init__(self, widget: QWidget, scroll: FittingScrollArea, *, spacing: int) -> None:
        super().__init__(widget)
        self._scroll = scroll
        self.setContentsMargins(0, 0, 0, 0)
        self.setSpacing(spacing)
        self.addWidget(scroll)

    def least_height(self, width: int) -> int:
        """Return the minimum height of the column at this width, for which the scroll area is as low as possible."""
        return self._needed(width) - self._scroll.heightForWidth(width) + self._scroll.minimumSizeHint().height()

    def _needed(self, width: int) -> int:
        heights = [_height(item, width) for item in self._shown_items()]
        return sum(heights) + self.spacing() * max(0, len(heights) - 1)

    def _shown_items(self) -> list[QLayoutItem]:
        items = (self.itemAt(index) for index in range(self.count()))
        return [item for item in items if item is not None and not item.isEmpty()]

    # Overridden Qt methods

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        rect = rect.marginsRemoved(self.contentsMargins())
        missing = self._needed(rect.width()) - rect.height()
        if missing <= 0:
            return
        top = rect.top()
        for item in self._shown_items():
            height = _height(item, rect.width())
            if item.widget() is self._scroll:
                height = max(0, height - missing)
            item.setGeometry(QRect(rect.left(), top, rect.width(), height))
            top += height + self.spacing()


def _height(item: QLayoutItem, width: int) -> int:
    return item.heightForWidth(width) if item.hasHeightForWidth() else item.sizeHint().height()
