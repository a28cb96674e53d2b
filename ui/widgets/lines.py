"""A list of painted lines, one of which is shown beside it: walked by keys, found again by what names it."""

from collections.abc import Sequence
from typing import Final, Generic, TypeVar

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QListView, QStyledItemDelegate, QWidget

from ui.theme import Look
from ui.widgets.tip import tip

ITEM: Final = Qt.ItemDataRole.UserRole
NOWHERE: Final = QModelIndex()
TIP: Final = 400
AnyIndex = QModelIndex | QPersistentModelIndex
T = TypeVar("T")


class Rows(QAbstractListModel, Generic[T]):
    """Plain values. A list says what names one, how it is read aloud, and what more there is to read of it."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.all: list[T] = []

    def key(self, item: T) -> str:
        raise NotImplementedError

    def spoken(self, item: T) -> str:
        raise NotImplementedError

    def tip(self, item: T) -> str:
        raise NotImplementedError

    def show(self, items: Sequence[T]) -> None:
        if list(items) != self.all:
            self.beginResetModel()
            self.all = list(items)
            self.endResetModel()

    def item(self, index: AnyIndex) -> T | None:
        return self.all[index.row()] if index.isValid() and index.row() < len(self.all) else None

    def place(self, key: str) -> QModelIndex:
        """Where a line is; an invalid index when it is not there."""
        places = (self.index(at) for at, item in enumerate(self.all) if key and self.key(item) == key)
        return next(places, QModelIndex())

    # Qt

    def rowCount(self, parent: AnyIndex = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.all)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        item = self.item(index)
        if item is None:
            return None
        match role:
            case Qt.ItemDataRole.AccessibleTextRole | Qt.ItemDataRole.DisplayRole:
                return self.spoken(item)
            case Qt.ItemDataRole.ToolTipRole:
                return tip(self.tip(item)[:TIP]) or None
            case _:
                return item if role == ITEM else None


class LinePainter(QStyledItemDelegate):
    """`shown` is the line on display, marked by a fill; the keyboard's place is outlined."""

    def __init__(self, look: Look, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.look, self.shown, self.keyboard = look, "", False


class LineList(QListView):
    chosen = Signal(str)
    menu_wanted = Signal(QPoint)

    def __init__(self, name: str, rows: QAbstractListModel, painter: LinePainter, parent: QWidget | None) -> None:
        super().__init__(parent)
        self._painter = painter
        for part in (rows, painter):
            part.setParent(self)
        self.setObjectName(name)
        self.setModel(rows)
        self.setItemDelegate(painter)
        self.setMouseTracking(True)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(lambda at: self.menu_wanted.emit(self.viewport().mapToGlobal(at)))

    def restyle(self, look: Look) -> None:
        self._painter.look = look
        self.scheduleDelayedItemsLayout()
        self.viewport().update()

    # Qt

    def keyPressEvent(self, event: QKeyEvent) -> None:
        self._painter.keyboard = True
        super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._painter.keyboard = False
        super().mousePressEvent(event)
