"""A row of two widgets, which are placed below each other if there is too little width for both."""

from PySide6.QtCore import QMargins, QRect, QSize, Qt
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QLayoutItem, QSizePolicy, QWidget

NO_MARGINS = QMargins(0, 0, 0, 0)


class StackingLayout(QBoxLayout):
    """The layout of the row. The width that an item needs is its minimum width or, without one, its size hint."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(QBoxLayout.Direction.LeftToRight, widget)

    def _shown(self) -> list[QLayoutItem]:
        items = (self.itemAt(index) for index in range(self.count()))
        return [item for item in items if item is not None and not item.isEmpty()]

    def _needed_width(self) -> int:
        widths = [_wanted_width(item) for item in self._shown()]
        return sum(widths) + self.spacing() * max(0, len(widths) - 1) + self._margins().width()

    def _margins(self) -> QSize:
        margins = self.contentsMargins()
        return QSize(margins.left() + margins.right(), margins.top() + margins.bottom())

    # Overridden Qt methods

    def setGeometry(self, rect: QRect) -> None:
        is_stacked, directions = self._needed_width() > rect.width(), QBoxLayout.Direction
        self.setDirection(directions.TopToBottom if is_stacked else directions.LeftToRight)
        super().setGeometry(rect)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        inner_width = width - self._margins().width()
        is_stacked = self._needed_width() > width
        height = self._stacked_height(inner_width) if is_stacked else self._row_height(inner_width)
        return height + self._margins().height()

    def _stacked_height(self, width: int) -> int:
        """Return the height of all items below each other."""
        items = self._shown()
        return sum(_height(item, width) for item in items) + self.spacing() * max(0, len(items) - 1)

    def _row_height(self, width: int) -> int:
        """Return the height of all items side by side, of which the first one gets the additional width."""
        items = self._shown()
        other_widths = [_wanted_width(item) for item in items[1:]]
        first_width = width - sum(other_widths) - self.spacing() * len(other_widths)
        widths = [first_width, *other_widths]
        return max((_height(item, item_width) for item, item_width in zip(items, widths, strict=False)), default=0)

    def sizeHint(self) -> QSize:
        return QSize(self._needed_width(), self.heightForWidth(self._needed_width()))

    def minimumSize(self) -> QSize:
        """Return the size of the larger widget.

        The width of both would widen the window, although they can be stacked. The height of both applies only while
        they are stacked; a parent layout would keep it after that.
        """
        sizes = [item.minimumSize() for item in self._shown()]
        width = max((size.width() for size in sizes), default=0)
        height = max((size.height() for size in sizes), default=0)
        return QSize(width, height) + self._margins()


class StackingRow(QWidget):
    """A row with margins. The first widget gets the additional width; `alignment` applies to the second one."""

    def __init__(
        self,
        first: QWidget,
        second: QWidget,
        *,
        margins: QMargins = NO_MARGINS,
        spacing: int = 8,
        alignment: Qt.AlignmentFlag | None = None,
    ) -> None:
        super().__init__()
        row = StackingLayout(self)
        row.setContentsMargins(margins)
        row.setSpacing(spacing)
        row.addWidget(first, 1)
        row.addWidget(second)
        if alignment is not None:
            row.setAlignment(second, alignment)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)


def plain_row(*widgets: QWidget, spacing: int = 8, alignment: Qt.AlignmentFlag | None = None) -> QWidget:
    """Return a row with these widgets, without margins. `alignment` applies to all of them."""
    row_widget = QWidget()
    row = QHBoxLayout(row_widget)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(spacing)
    for widget in widgets:
        row.addWidget(widget)
    if alignment is not None:
        row.setAlignment(alignment)
    return row_widget


def _wanted_width(item: QLayoutItem) -> int:
    widget = item.widget()
    return (widget.minimumWidth() if widget else 0) or item.sizeHint().width()


def _height(item: QLayoutItem, width: int) -> int:
    return item.heightForWidth(width) if item.hasHeightForWidth() else item.sizeHint().height()
