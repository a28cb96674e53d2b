"""A column of widgets that shortens its scroll area if there is too little height for everything."""

from PySide6.QtCore import QRect
from PySide6.QtWidgets import QLayoutItem, QVBoxLayout, QWidget

from ui.widgets.fitting_scroll_area import FittingScrollArea


class ScrollColumn(QVBoxLayout):
    """A column whose scroll area alone gives way, so that what is below it is never cut off.

    A plain box layout takes the height that a widget needs for its width as its minimum, and therefore squeezes all
    of them if they do not fit.
    """

    def __init__(self, widget: QWidget, scroll: FittingScrollArea, *, spacing: int) -> None:
        super().__init__(widget)
        self._scroll = scroll
        self.setContentsMargins(0, 0, 0, 0)
        self.setSpacing(spacing)
        self.addWidget(scroll)

    def least_height(self, width: int) -> int:
        """Return the height that is needed for this width if the scroll area is as low as it can be."""
        return self._needed(width) - self._scroll.heightForWidth(width) + self._scroll.minimumSizeHint().height()

    def _needed(self, width: int) -> int:
        heights = [_height(item, width) for item in self._shown_items()]
        return sum(heights) + self.spacing() * max(0, len(heights) - 1)

    def _shown_items(self) -> list[QLayoutItem]:
        items = (self.itemAt(index) for index in range(self.count()))
        return [item for item in items if item is not None and not item.isEmpty()]

    # Qt overrides

    def setGeometry(self, rect: QRect) -> None:
        missing = self._needed(rect.width()) - rect.height()
        super().setGeometry(rect)
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
