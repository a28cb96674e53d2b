"""The rows of one run as a Qt model for its bars: read in slices, so that a million of them hold nothing up."""

from array import array
from collections.abc import Sequence
from typing import Any, Final, Protocol

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt, QTimer, Signal

from core.domain.clock import Clock, now
from core.domain.steps import OPEN, Step
from core.store.marks import Mark
from ui.looks import spoken_row
from ui.timeline.pages import Pages, Rows

SLICE: Final = 5_000
PAUSE_MS: Final = 6
NO_BAR: Final = frozenset({"person", "reply", "end", "verdict", "fork", "notice"})
YOURS: Final = frozenset({"question", "consent", "interrupted", "paused"})

AnyIndex = QModelIndex | QPersistentModelIndex
NOWHERE = QModelIndex()


class Stretches(Rows, Protocol):
    """Where the bars are read from: in the app the store's reader."""

    def stretch(self, session: str, first: int, count: int) -> list[Mark]: ...


class RunBars(QAbstractTableModel):
    """`progressed` when more of the run was read."""

    progressed = Signal()

    def __init__(self, rows: Stretches, clock: Clock = now, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._source, self._clock = rows, clock
        self._next = QTimer(self, singleShot=True, interval=PAUSE_MS)
        self._next.timeout.connect(self.read)
        self._start("", 0, 0)

    def _start(self, session: str, first: int, end: int) -> None:
        self.session = session
        self._first, self._at, self._end = first, first, end
        self._pages = Pages(self._source, session)
        self._rows = array("Q")
        self._open: dict[int, Mark] = {}
        self._spent = {"thinking": 0, "tools": 0, "you": 0}
        self.began = self.ended = 0

    # what is shown

    def open(self, session: str, first: int, end: int) -> None:
        """Show the rows `first` to `end`; the first slice at once."""
        self.beginResetModel()
        self._start(session, first, end)
        self.endResetModel()
        self.read()

    def grow(self, end: int, changes: Sequence[Step]) -> None:
        """The run has more rows, and some of the known ones are not what they were."""
        for step in changes:
            self._pages.put(step)
            if step.row in self._open:
                self._count(Mark(step.row, step.kind, step.status, step.began, step.ended, step.depth))
            if (place := self.place(step.row)) is not None:
                self.dataChanged.emit(self.index(place, 0), self.index(place, 0))
        if end > self._end:
            self._end = end
            self.read()

    def read(self) -> None:
        """One slice more."""
        found = self._source.stretch(self.session, self._at, min(SLICE, self._end - self._at)) if self.session else []
        self._at = found[-1].row + 1 if found else self._end
        shown = [mark for mark in found if mark.kind not in NO_BAR]
        if shown:
            place = len(self._rows)
            self.beginInsertRows(QModelIndex(), place, place + len(shown) - 1)
            self._rows.extend(mark.row for mark in shown)
            for mark in shown:
                self._count(mark)
            self.endInsertRows()
        self.progressed.emit()
        if self._at < self._end:
            self._next.start()

    def _count(self, mark: Mark) -> None:
        going = mark.status in OPEN and not mark.ended
        if mark.kind == "run":
            self.began, self.ended = mark.began, mark.ended
            if going:
                self._open[mark.row] = mark
            else:
                self._open.pop(mark.row, None)
            return
        if going:
            self._open[mark.row] = mark
            return
        self._open.pop(mark.row, None)
        share = "thinking" if mark.kind == "thinking" else "you" if mark.kind in YOURS else "tools"
        if not mark.depth:
            self._spent[share] += max(0, mark.ended - mark.began)

    # reading

    @property
    def complete(self) -> bool:
        return self._at >= self._end

    @property
    def going(self) -> bool:
        return bool(self._open)

    def until(self) -> int:
        """When the run ended, or now."""
        last = self.step(len(self._rows) - 1) if self._rows else None
        if self.ended:
            return max(self.ended, last.ended if last else 0)
        return self._clock()

    def totals(self) -> dict[str, int]:
        """How long it thought, worked, and waited for the person."""
        spent = dict(self._spent)
        for mark in self._open.values():
            if mark.kind == "run":
                continue
            share = "thinking" if mark.kind == "thinking" else "you" if mark.kind in YOURS else "tools"
            spent[share] += max(0, self._clock() - mark.began)
        return spent

    def step(self, place: int) -> Step | None:
        return self._pages.step(self._rows[place]) if 0 <= place < len(self._rows) else None

    def ends(self, step: Step) -> int:
        return step.ended if step.ended or step.status not in OPEN else self._clock()

    def place(self, row: int) -> int | None:
        """Where a row of the session stands here."""
        low, high = 0, len(self._rows)
        while low < high:
            middle = (low + high) // 2
            if self._rows[middle] < row:
                low = middle + 1
            else:
                high = middle
        return low if low < len(self._rows) and self._rows[low] == row else None

    # Qt

    def rowCount(self, parent: AnyIndex = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: AnyIndex = NOWHERE) -> int:
        return 0 if parent.isValid() else 1

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or role not in {Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole}:
            return None
        step = self.step(index.row())
        return spoken_row(step, max(0, self.ends(step) - step.began)) if step else ""
