"""The Qt model of the list of sessions. It contains headings and sessions, and is updated row by row."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from enum import IntEnum
from typing import Final

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from core.domain.sessions import SessionRow
from ui.base.pausing import displayed_status
from ui.sessions.session_rows import (
    ListItem,
    PageItem,
    SessionHeading,
    SessionHit,
    SessionLine,
    changes_position,
    group_hits,
    group_sessions,
    second_line,
    status_text,
)
from ui.text.visible import visible

Index = QModelIndex | QPersistentModelIndex
NO_PARENT: Final = QModelIndex()
HEADING_PREFIX: Final = "\0"  # cannot occur in a session ID, so that keys of headings never equal session IDs


class Role(IntEnum):
    """The roles for data that only this model has."""

    ITEM = Qt.ItemDataRole.UserRole
    SESSION = Qt.ItemDataRole.UserRole + 1


class SessionsModel(QAbstractListModel):
    """A list of sessions and group headings, of which some can be collapsed. Only sessions can be selected."""

    renamed = Signal(str, str)

    def __init__(self, *, home: str, clock: Callable[[], int], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.unseen: frozenset[str] = frozenset()
        self._home = home
        self._clock = clock
        self._rows: dict[str, SessionRow] = {}
        self._query = ""
        self._hits: tuple[SessionHit, ...] = ()
        self._page_items: tuple[PageItem, ...] = ()
        self._items: list[ListItem] = []
        self._expanded: frozenset[str] = frozenset()

    def show_sessions(self, rows: Iterable[SessionRow]) -> None:
        self._rows = {row.id: row for row in rows}
        self.rearrange()

    def search(self, query: str, hits: Sequence[SessionHit] = (), page_items: Sequence[PageItem] = ()) -> None:
        """Show only sessions, memories and skills that match a search; an empty query shows all sessions."""
        self._query = query.strip()
        self._hits = tuple(hits)
        self._page_items = tuple(page_items)
        self.rearrange()

    def rearrange(self) -> None:
        """Build all rows again. Called at the start, for a search, and when the day has changed."""
        self.beginResetModel()
        self._items = self._arranged()
        self.endResetModel()

    def update_session(self, row: SessionRow) -> None:
        """Update a session. Rows that do not move keep their position, selection and scroll offset."""
        before, self._rows[row.id] = self._rows.get(row.id), row
        if before is not None and not changes_position(before, row):
            self._repaint(row)
            return
        self._sync(row.id)

    def _sync(self, moved: str = "") -> None:
        """Update the list after session `moved` has changed.

        Rows that stay keep their position, selection and scroll offset.
        """
        target = self._arranged()
        if [_key(item) for item in target] == [_key(item) for item in self._items]:
            self._refresh(target)
            return
        target_keys = {_key(item) for item in target} - {moved}
        staying_keys = {_key(item) for item in self._items} & target_keys
        if _ordered(target, staying_keys) != _ordered(self._items, staying_keys):
            self.rearrange()  # the day has changed, so that any session may be in another group
            return
        self._remove_where(lambda item: _key(item) not in target_keys)
        self._insert_missing(target)

    def remove_sessions(self, names: Iterable[str]) -> None:
        for name in names:
            self._rows.pop(name, None)
        self._sync()

    def toggle_group(self, key: str) -> None:
        """Expand or collapse a group."""
        self._expanded = self._expanded ^ {key}
        self._sync()

    def rows_of(self, indexes: Iterable[Index]) -> list[SessionRow]:
        """Return the sessions at these indexes in the order of the list."""
        items = [self.item(index) for index in sorted(indexes, key=lambda index: index.row())]
        return [item.row for item in items if isinstance(item, SessionLine)]

    def session_indexes(self) -> list[QModelIndex]:
        """Return the indexes of the visible sessions, without headings."""
        return [self.index(number) for number, item in enumerate(self._items) if isinstance(item, SessionLine)]

    def rows(self) -> list[SessionRow]:
        """Return the sessions without those in the trash, in no particular order."""
        return [row for row in self._rows.values() if not row.trashed]

    def all_sessions(self) -> list[SessionRow]:
        """Return all sessions in the order of the list, including those in collapsed groups."""
        return [
            item.row for item in group_sessions(self._rows.values(), self._clock()) if isinstance(item, SessionLine)
        ]

    def item(self, index: Index) -> ListItem | None:
        return self._items[index.row()] if index.isValid() and index.row() < len(self._items) else None

    def index_of(self, session_id: str) -> QModelIndex:
        """Return the index of a session; an invalid index if the session is not listed."""
        for number, item in enumerate(self._items):
            if isinstance(item, SessionLine) and item.row.id == session_id:
                return self.index(number)
        return QModelIndex()

    def heading_rows(self) -> list[int]:
        return [number for number, item in enumerate(self._items) if isinstance(item, SessionHeading)]

    def rowCount(self, parent: Index = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._items)

    def flags(self, index: Index) -> Qt.ItemFlag:
        item, flag = self.item(index), Qt.ItemFlag
        if isinstance(item, SessionHeading):
            return flag.ItemIsEnabled | flag.ItemNeverHasChildren if item.collapsible else flag.NoItemFlags
        if item is None:
            return flag.NoItemFlags
        flags = flag.ItemIsEnabled | flag.ItemIsSelectable | flag.ItemNeverHasChildren
        return flags | flag.ItemIsEditable if isinstance(item, SessionLine) else flags

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        item = self.item(index)
        if item is None:
            return None
        if role == Role.ITEM:
            return item
        if isinstance(item, SessionHeading):
            if item.collapsible and role == Qt.ItemDataRole.AccessibleTextRole:
                state = self.tr("expanded") if item.expanded else self.tr("collapsed")
                return f"{item.title}, {item.count}, {state}"
            texts = (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole)
            return item.title if role in texts else None
        if isinstance(item, PageItem):
            return _page_item_data(item, role)
        return self._line_data(item, role)

    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Emit `renamed`. The row changes later, after the engine has stored the new title."""
        item = self.item(index)
        if role != Qt.ItemDataRole.EditRole or not isinstance(item, SessionLine) or not isinstance(value, str):
            return False
        if value.strip() and value.strip() != item.row.title:
            self.renamed.emit(item.row.id, value.strip())
        return True

    def _line_data(self, line: SessionLine, role: int) -> object:
        match role:
            case Qt.ItemDataRole.EditRole:
                return line.row.title
            case Qt.ItemDataRole.DisplayRole:
                return visible(line.row.title)
            case Role.SESSION:
                return line.row.id
            case Qt.ItemDataRole.AccessibleTextRole:
                below = line.match or second_line(line.row, self._home)
                status = status_text(displayed_status(line.row))
                status = self.tr("{}, not seen yet").format(status) if line.row.id in self.unseen else status
                return visible(f"{line.row.title}, {status}, {below}")
            case _:
                return None

    def _arranged(self) -> list[ListItem]:
        if self._query:
            return group_hits(list(self._rows.values()), self._hits, self._query, self._clock(), self._page_items)
        return group_sessions(self._rows.values(), self._clock(), self._expanded)

    def _repaint(self, row: SessionRow) -> None:
        """Update a row that does not move. This is the common case while a session is running."""
        index = self.index_of(row.id)
        item = self.item(index)
        if isinstance(item, SessionLine):
            self._items[index.row()] = replace(item, row=row)
            self.dataChanged.emit(index, index)

    def _refresh(self, target: list[ListItem]) -> None:
        changed = [number for number, item in enumerate(target) if item != self._items[number]]
        self._items = target
        for number in changed:
            self.dataChanged.emit(self.index(number), self.index(number))

    def _remove_where(self, predicate: Callable[[ListItem], bool]) -> None:
        for number in range(len(self._items) - 1, -1, -1):
            if predicate(self._items[number]):
                self.beginRemoveRows(QModelIndex(), number, number)
                del self._items[number]
                self.endRemoveRows()

    def _insert_missing(self, target: list[ListItem]) -> None:
        """Insert the rows of `target` that are missing in the list.

        One pass is enough, because both have the same order.
        """
        for number, item in enumerate(target):
            if number < len(self._items) and _key(self._items[number]) == _key(item):
                continue
            self.beginInsertRows(QModelIndex(), number, number)
            self._items.insert(number, item)
            self.endInsertRows()
        self._refresh(target)


def _key(item: ListItem) -> str:
    match item:
        case SessionHeading(key=key):
            return HEADING_PREFIX + key
        case PageItem(page=page, target=target):
            return f"{HEADING_PREFIX}{page}{HEADING_PREFIX}{target}"
        case SessionLine(row=row):
            return row.id


def _page_item_data(item: PageItem, role: int) -> object:
    match role:
        case Qt.ItemDataRole.DisplayRole:
            return visible(item.title)
        case Qt.ItemDataRole.AccessibleTextRole:
            return visible(f"{item.title}, {item.match}")
        case _:
            return None


def _ordered(items: list[ListItem], keys: set[str]) -> list[str]:
    return [key for key in map(_key, items) if key in keys]
