"""A layout that places its items side by side and wraps them, like the words of a text."""

from typing import Final

from PySide6.QtCore import QRect, QSize
from PySide6.QtWidgets import QLayout, QLayoutItem, QSizePolicy, QWidget

GAP: Final = 6
MAX_MINIMUM_WIDTH: Final = 160  # pixels; a wider item may be cut off rather than widen the window


class FlowLayout(QLayout):
    """A layout that places items side by side and continues on further lines if there is too little width."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self.setContentsMargins(0, 0, 0, 0)

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._arrange(QRect(0, 0, width, 0), move=False)

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        self._arrange(rect, move=True)

    def sizeHint(self) -> QSize:
        """Return the size for all items on a single line."""
        widths = [item.sizeHint().width() for item in self._items if not item.isEmpty()]
        return QSize(sum(widths) + GAP * max(0, len(widths) - 1), self.minimumSize().height())

    def minimumSize(self) -> QSize:
        sizes = [item.minimumSize() for item in self._items if not item.isEmpty()]
        width = max((size.width() for size in sizes), default=0)
        height = max((size.height() for size in sizes), default=0)
        return QSize(min(MAX_MINIMUM_WIDTH, width), height)

    def _arrange(self, rect: QRect, *, move: bool) -> int:
        """Return the height of all lines.

        If `move` is true, also place the items, vertically centered in their lines.
        """
        y = rect.top()
        for line in self._lines(rect.width()):
            x, height = rect.left(), max(item.sizeHint().height() for item in line)
            for item in line if move else ():
                hint = item.sizeHint()
                top = y + (height - hint.height()) // 2
                item.setGeometry(QRect(x, top, min(hint.width(), rect.width()), hint.height()))
                x += hint.width() + GAP
            y += height + GAP
        return max(0, y - GAP - rect.top())

    def _lines(self, width: int) -> list[list[QLayoutItem]]:
        """Return the visible items, divided into lines that fit into the width."""
        lines: list[list[QLayoutItem]] = []
        used = 0
        for item in self._items:
            if item.isEmpty():  # a hidden item counts as empty
                continue
            needed = item.sizeHint().width()
            if not lines or used + GAP + needed > width:
                lines.append([item])
                used = needed
            else:
                lines[-1].append(item)
                used += GAP + needed
        return lines


class WrappingRow(QWidget):
    """A row of widgets that continues on further lines if there is too little width."""

    def __init__(self, *widgets: QWidget) -> None:
        super().__init__()
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        row = FlowLayout(self)
        for widget in widgets:
            row.addWidget(widget)
