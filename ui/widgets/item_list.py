"""A list of painted items for master-detail pages: a generic model, its delegate base class and the list view."""

from collections.abc import Sequence
from typing import Final, Generic, TypeVar

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QListView, QStyledItemDelegate, QWidget

from ui.style.theme import Look
from ui.widgets.tooltip import tooltip_text

ITEM_ROLE: Final = Qt.ItemDataRole.UserRole
NOWHERE: Final = QModelIndex()
MAX_TOOLTIP: Final = 400
AnyIndex = QModelIndex | QPersistentModelIndex
T = TypeVar("T")


class ItemListModel(QAbstractListModel, Generic[T]):
    """A list model of plain values. Subclasses provide an item's key, its text for screen readers, and its tooltip."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.items: list[T] = []

    def key_of(self, item: T) -> str:
        raise NotImplementedError

    def accessible_text(self, item: T) -> str:
        raise NotImplementedError

    def tooltip_of(self, item: T) -> str:
        raise NotImplementedError

    def show(self, items: Sequence[T]) -> None:
        if list(items) != self.items:
            self.beginResetModel()
            self.items = list(items)
            self.endResetModel()

    def item(self, index: AnyIndex) -> T | None:
        return self.items[index.row()] if index.isValid() and index.row() < len(self.items) else None

    def index_of(self, key: str) -> QModelIndex:
        """Return the index of the item with this key; an invalid index if there is none."""
        places = (self.index(at) for at, item in enumerate(self.items) if key and self.key_of(item) == key)
        return next(places, QModelIndex())

    # Qt overrides

    def rowCount(self, parent: AnyIndex = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.items)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        item = self.item(index)
        if item is None:
            return None
        match role:
            case Qt.ItemDataRole.AccessibleTextRole | Qt.ItemDataRole.DisplayRole:
                return self.accessible_text(item)
            case Qt.ItemDataRole.ToolTipRole:
                return tooltip_text(self.tooltip_of(item)[:MAX_TOOLTIP]) or None
            case _:
                return item if role == ITEM_ROLE else None


class ItemDelegate(QStyledItemDelegate):
    """Base class of the delegates. The item with `shown_key` is filled; `keyboard_focus` turns on the focus outline."""

    def __init__(self, look: Look, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.look, self.shown_key, self.keyboard_focus = look, "", False


class ItemListView(QListView):
    chosen = Signal(str)
    menu_requested = Signal(QPoint)

    def __init__(self, name: str, rows: QAbstractListModel, painter: ItemDelegate, parent: QWidget | None) -> None:
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
        self.customContextMenuRequested.connect(lambda at: self.menu_requested.emit(self.viewport().mapToGlobal(at)))

    def restyle(self, look: Look) -> None:
        self._painter.look = look
        self.scheduleDelayedItemsLayout()
        self.viewport().update()

    # Qt overrides

    def keyPressEvent(self, event: QKeyEvent) -> None:
        self._painter.keyboard_focus = True
        super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._painter.keyboard_focus = False
        super().mousePressEvent(event)
