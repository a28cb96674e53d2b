"""The list of sessions as Qt sees it: headings and lines, changed in place when one session moves."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from enum import IntEnum
from typing import Final

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from core.domain.sessions import SessionRow
from ui.sessions.rows import Heading, Hit, Line, arrange, arrange_hits, moves, second_line, status_words
from ui.visible import visible

Index = QModelIndex | QPersistentModelIndex
TOP: Final = QModelIndex()
HEADING_MARK: Final = "\0"  # no session is called so: a heading's key must not meet a session's


class Role(IntEnum):
    """What a row answers beyond its title."""

    ITEM = Qt.ItemDataRole.UserRole
    SESSION = Qt.ItemDataRole.UserRole + 1


class SessionsModel(QAbstractListModel):
    """Headings cannot be chosen, some open and close; everything shown is a plain value."""

    renamed = Signal(str, str)

    def __init__(self, *, home: str, clock: Callable[[], int], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._home, self._clock = home, clock
        self._rows: dict[str, SessionRow] = {}
        self._words = ""
        self._hits: tuple[Hit, ...] = ()
        self._items: list[Heading | Line] = []
        self._opened: frozenset[str] = frozenset()

    def show_sessions(self, rows: Iterable[SessionRow]) -> None:
        self._rows = {row.id: row for row in rows}
        self.rearrange()

    def search(self, words: str, hits: Sequence[Hit] = ()) -> None:
        """Narrow the list to what holds these words; none shows all."""
        self._words, self._hits = words.strip(), tuple(hits)
        self.rearrange()

    def rearrange(self) -> None:
        """Lay the list out anew: at the start, for a search, and when the day changes."""
        self.beginResetModel()
        self._items = self._arranged()
        self.endResetModel()

    def update_session(self, row: SessionRow) -> None:
        """Show one session's new state; lines that did not move keep their place, selection and scroll."""
        before, self._rows[row.id] = self._rows.get(row.id), row
        if before is not None and not moves(before, row):
            self._repaint(row)
            return
        self._follow(row.id)

    def _follow(self, moved: str = "") -> None:
        """Show the list as it should be now; lines that stay keep their place, selection and scroll."""
        target = self._arranged()
        if [_key(item) for item in target] == [_key(item) for item in self._items]:
            self._refresh(target)
            return
        wanted = {_key(item) for item in target} - {moved}
        staying = {_key(item) for item in self._items} & wanted
        if _ordered(target, staying) != _ordered(self._items, staying):
            self.rearrange()  # the day has changed meanwhile: every group may have moved
            return
        self._drop(lambda item: _key(item) not in wanted)
        self._grow(target)

    def drop_sessions(self, names: Iterable[str]) -> None:
        """These are gone for good."""
        for name in names:
            self._rows.pop(name, None)
        self._follow()

    def turn(self, key: str) -> None:
        """Open a group that folds, or close it."""
        self._opened = self._opened ^ {key}
        self._follow()

    def rows_of(self, indexes: Iterable[Index]) -> list[SessionRow]:
        """The sessions on these lines, in the order of the list."""
        found = [self.item(index) for index in sorted(indexes, key=lambda index: index.row())]
        return [item.row for item in found if isinstance(item, Line)]

    def lines(self) -> list[QModelIndex]:
        """The lines that are shown, without the headings."""
        return [self.index(number) for number, item in enumerate(self._items) if isinstance(item, Line)]

    def everything(self) -> list[SessionRow]:
        """Every session in the order of the list, also those that are folded away."""
        return [item.row for item in arrange(self._rows.values(), self._clock()) if isinstance(item, Line)]

    def item(self, index: Index) -> Heading | Line | None:
        return self._items[index.row()] if index.isValid() and index.row() < len(self._items) else None

    def place(self, session_id: str) -> QModelIndex:
        """Where a session is listed; an invalid index when it is not."""
        for number, item in enumerate(self._items):
            if isinstance(item, Line) and item.row.id == session_id:
                return self.index(number)
        return QModelIndex()

    def headings(self) -> list[int]:
        return [number for number, item in enumerate(self._items) if isinstance(item, Heading)]

    def rowCount(self, parent: Index = TOP) -> int:
        return 0 if parent.isValid() else len(self._items)

    def flags(self, index: Index) -> Qt.ItemFlag:
        item, flag = self.item(index), Qt.ItemFlag
        if isinstance(item, Heading):
            return flag.ItemIsEnabled | flag.ItemNeverHasChildren if item.folds else flag.NoItemFlags
        if item is None:
            return flag.NoItemFlags
        return flag.ItemIsEnabled | flag.ItemIsSelectable | flag.ItemIsEditable | flag.ItemNeverHasChildren

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        item = self.item(index)
        if item is None:
            return None
        if role == Role.ITEM:
            return item
        if isinstance(item, Heading):
            if item.folds and role == Qt.ItemDataRole.AccessibleTextRole:
                state = self.tr("open") if item.opened else self.tr("closed")
                return f"{item.title}, {item.count}, {state}"
            texts = (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole)
            return item.title if role in texts else None
        return self._line_data(item, role)

    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """A new name is wished for here; the line changes when it is a fact."""
        item = self.item(index)
        if role != Qt.ItemDataRole.EditRole or not isinstance(item, Line) or not isinstance(value, str):
            return False
        if value.strip() and value.strip() != item.row.title:
            self.renamed.emit(item.row.id, value.strip())
        return True

    def _line_data(self, line: Line, role: int) -> object:
        match role:
            case Qt.ItemDataRole.EditRole:
                return line.row.title
            case Qt.ItemDataRole.DisplayRole:
                return visible(line.row.title)
            case Role.SESSION:
                return line.row.id
            case Qt.ItemDataRole.AccessibleTextRole:
                below = line.found or second_line(line.row, self._home)
                return visible(f"{line.row.title}, {status_words(line.row.status)}, {below}")
            case _:
                return None

    def _arranged(self) -> list[Heading | Line]:
        if self._words:
            return arrange_hits(list(self._rows.values()), self._hits, self._words, self._clock())
        return arrange(self._rows.values(), self._clock(), self._opened)

    def _repaint(self, row: SessionRow) -> None:
        """What a running session does most of the time: change and stay where it is."""
        index = self.place(row.id)
        item = self.item(index)
        if isinstance(item, Line):
            self._items[index.row()] = replace(item, row=row)
            self.dataChanged.emit(index, index)

    def _refresh(self, target: list[Heading | Line]) -> None:
        changed = [number for number, item in enumerate(target) if item != self._items[number]]
        self._items = target
        for number in changed:
            self.dataChanged.emit(self.index(number), self.index(number))

    def _drop(self, leaves: Callable[[Heading | Line], bool]) -> None:
        for number in range(len(self._items) - 1, -1, -1):
            if leaves(self._items[number]):
                self.beginRemoveRows(QModelIndex(), number, number)
                del self._items[number]
                self.endRemoveRows()

    def _grow(self, target: list[Heading | Line]) -> None:
        """Insert what is missing. What stayed has kept its order, so one pass over the target is enough."""
        for number, item in enumerate(target):
            if number < len(self._items) and _key(self._items[number]) == _key(item):
                continue
            self.beginInsertRows(QModelIndex(), number, number)
            self._items.insert(number, item)
            self.endInsertRows()
        self._refresh(target)


def _key(item: Heading | Line) -> str:
    return HEADING_MARK + item.key if isinstance(item, Heading) else item.row.id


def _ordered(items: list[Heading | Line], keys: set[str]) -> list[str]:
    return [key for key in map(_key, items) if key in keys]
