"""A column of widgets with a scroll area that shrinks if there is too little height for everything."""

from PySide6.QtCore import QRect
from PySide6.QtWidgets import QLayout, QLayoutItem, QVBoxLayout, QWidget

from ui.widgets.fitting_scroll_area import FittingScrollArea


class ScrollColumn(QVBoxLayout):
    """A column in which only the scroll area shrinks, so that the widgets below it are never cut off.

    `hint` is a widget that gets room below the scroll area only if that has to scroll. It is not an item of the layout:
    the height that the column asks for must not depend on the hint, because the hint depends on the height that the
    column gets. Its visibility is left to the owner.

    The column has no margins by default; `least_height` does not include them. A plain box layout would shrink all
    widgets, because it takes the height that a widget needs for its width as its minimum.
    """

    def __init__(
        self, widget: QWidget, scroll: FittingScrollArea, *, spacing: int, hint: QWidget | None = None
    ) -> None:
        super().__init__(widget)
        self._scroll = scroll
        self._hint = hint
        self._has_hint_room = hint is not None
        self.setContentsMargins(0, 0, 0, 0)
        self.setSpacing(spacing)
        self.addWidget(scroll)
        if hint is not None:
            hint.setParent(widget)
            hint.hide()

    def set_hint_room(self, on: bool) -> None:
        """Set whether the hint gets room if the scroll area has to scroll."""
        if on != self._has_hint_room:
            self._has_hint_room = on
            self.invalidate()

    def least_height(self, width: int) -> int:
        """Return the minimum height of the column at this width, for which the scroll area is as low as possible."""
        hint_height = self._hint.sizeHint().height() + self.spacing() if self._hint else 0
        saved_height = self._scroll.heightForWidth(width) - self._scroll.minimumSizeHint().height()
        return self._needed_height(width) - saved_height + hint_height

    def _needed_height(self, width: int) -> int:
        """Return the height at which nothing has to scroll."""
        items = self._items()
        # An empty layout counts as well, because a box layout gives it the height of its margins, but no spacing.
        height = sum(_height(item, width) for item in items)
        shown_count = sum(not item.isEmpty() for item in items)
        return height + self.spacing() * max(0, shown_count - 1)

    def _items(self) -> list[QLayoutItem]:
        items = (self.itemAt(index) for index in range(self.count()))
        return [item for item in items if item is not None]

    # Overridden Qt methods

    def setGeometry(self, rect: QRect) -> None:
        inner = rect.marginsRemoved(self.contentsMargins())
        missing_height = self._needed_height(inner.width()) - inner.height()
        if missing_height <= 0:
            super().setGeometry(rect)
            return
        # Not the method of the box layout, because the scroll area would wrap its content for two sizes in each pass.
        QLayout.setGeometry(self, rect)
        top = inner.top()
        for item in self._items():
            height = _height(item, inner.width())
            if item.widget() is self._scroll:
                height = max(0, height - missing_height)
                self._place_scroll(QRect(inner.left(), top, inner.width(), height))
            else:
                item.setGeometry(QRect(inner.left(), top, inner.width(), height))
            top += height + (0 if item.isEmpty() else self.spacing())

    def _place_scroll(self, rect: QRect) -> None:
        """Place the scroll area in a rectangle, with the hint at its bottom."""
        scroll_rect = QRect(rect)
        if self._hint and self._has_hint_room:
            hint_height = min(self._hint.sizeHint().height(), rect.height())
            scroll_rect.setHeight(max(0, rect.height() - hint_height - self.spacing()))
            self._hint.setGeometry(rect.left(), rect.bottom() + 1 - hint_height, rect.width(), hint_height)
        self._scroll.setGeometry(scroll_rect)


def _height(item: QLayoutItem, width: int) -> int:
    return item.heightForWidth(width) if item.hasHeightForWidth() else item.sizeHint().height()
