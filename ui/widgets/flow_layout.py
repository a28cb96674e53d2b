"""A layout that wraps its items like words."""

from typing import Final

from PySide6.QtCore import QRect, QSize
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget

GAP: Final = 6


class FlowLayout(QLayout):
    """A layout that places items side by side and wraps them to further lines."""

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
        return self.minimumSize()

    def minimumSize(self) -> QSize:
        sizes = [item.minimumSize() for item in self._items]
        return QSize(min(160, max((s.width() for s in sizes), default=0)), max((s.height() for s in sizes), default=0))

    def _arrange(self, rect: QRect, *, move: bool) -> int:
        x, y, row_height = rect.left(), rect.top(), 0
        for item in self._items:
            hint = item.sizeHint()
            if x > rect.left() and x + hint.width() > rect.right() + 1:
                x, y, row_height = rect.left(), y + row_height + GAP, 0
            if move:
                item.setGeometry(QRect(x, y, min(hint.width(), rect.width()), hint.height()))
            x += hint.width() + GAP
            row_height = max(row_height, hint.height())
        return y + row_height - rect.top()
