"""A list of painted items: a generic model, the base class of its delegates, and a list view for pages with details."""

from collections.abc import Sequence
from typing import ClassVar, Final, Generic, TypeVar

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QListView, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from ui.style.theme import Look
from ui.widgets.current_row import keep_current_row
from ui.widgets.tooltip import tooltip_text

ITEM_ROLE: Final = Qt.ItemDataRole.UserRole
NOWHERE: Final = QModelIndex()
MAX_TOOLTIP: Final = 400
AnyIndex = QModelIndex | QPersistentModelIndex
T = TypeVar("T")


class ItemListModel(QAbstractListModel, Generic[T]):
    """A list model of plain values. Subclasses provide the text of an item and, optionally, its key and tooltip."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.items: list[T] = []

    def key_of(self, item: T) -> str:
        """Return a key by which an item is recognized when its values change; "" if there is none."""
        return ""

    def accessible_text(self, item: T) -> str:
        raise NotImplementedError

    def text_of(self, item: T) -> str:
        """Return the text that typing in the list searches."""
        return self.accessible_text(item)

    def tooltip_of(self, item: T) -> str:
        return ""

    def show(self, items: Sequence[T]) -> bool:
        """Show these items; return False if they are shown already. The selection stays if the keys are the same."""
        before, after = self.items, list(items)
        if before == after:
            return False
        if before and after[: len(before)] == before:
            self.beginInsertRows(NOWHERE, len(before), len(after) - 1)
            self.items = after
            self.endInsertRows()
        elif self._has_same_keys(after):
            self.items = after
            self.dataChanged.emit(self.index(0), self.index(len(after) - 1))
        else:
            self.beginResetModel()
            self.items = after
            self.endResetModel()
        return True

    def _has_same_keys(self, items: list[T]) -> bool:
        keys = [self.key_of(item) for item in items]
        return all(keys) and keys == [self.key_of(item) for item in self.items]

    def item(self, index: AnyIndex) -> T | None:
        return self.item_at(index.row()) if index.isValid() else None

    def item_at(self, row: int) -> T | None:
        return self.items[row] if 0 <= row < len(self.items) else None

    def index_of(self, key: str) -> QModelIndex:
        """Return the index of the item with this key; an invalid index if there is none."""
        if not key:
            return QModelIndex()
        rows = (row for row, item in enumerate(self.items) if self.key_of(item) == key)
        return self.index(next(rows, -1))

    # Overridden Qt methods

    def rowCount(self, parent: AnyIndex = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.items)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        item = self.item(index)
        if item is None:
            return None
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self.text_of(item)
            case Qt.ItemDataRole.AccessibleTextRole:
                return self.accessible_text(item)
            case Qt.ItemDataRole.ToolTipRole:
                return tooltip_text(self.tooltip_of(item)[:MAX_TOOLTIP]) or None
            case _:
                return item if role == ITEM_ROLE else None


class ItemDelegate(QStyledItemDelegate):
    """Base class of the delegates.

    The item with the key `shown_key` is filled. `keyboard_focus` enables the outline of the focused row. `ROW_HEIGHT`
    is in pixels at 100% text size. If the height of the rows depends on a font, override `sizeHint` instead.
    """

    ROW_HEIGHT: ClassVar = 0

    def __init__(self, look: Look, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.look = look
        self.shown_key = ""
        self.keyboard_focus = False

    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:
        return QSize(0, self.look.size(self.ROW_HEIGHT))


class ItemListView(QListView):
    """The list view of an `ItemListModel`. `menu_requested` carries the position of the pointer on the screen."""

    menu_requested = Signal(QPoint)

    def __init__(self, name: str, rows: QAbstractListModel, painter: ItemDelegate, parent: QWidget | None) -> None:
        super().__init__(parent)
        self._painter = painter
        for part in (rows, painter):
            part.setParent(self)
        self.setObjectName(name)
        self.setModel(rows)
        keep_current_row(self)
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

    # Overridden Qt methods

    def keyPressEvent(self, event: QKeyEvent) -> None:
        self._painter.keyboard_focus = True
        super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._painter.keyboard_focus = False
        super().mousePressEvent(event)
