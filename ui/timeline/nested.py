"""Where the rows of a session stand, with those of sub-agents among them that a person has unfolded."""

from collections.abc import Sequence

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject

from core.domain.sessions import SessionRow
from core.domain.steps import OPEN, Step
from ui.timeline.family import Family
from ui.timeline.folds import Folds
from ui.timeline.nests import SPAN, Nest, Nests
from ui.timeline.pages import Pages, Rows

NEAR = 200  # rows among which the step that gives work to a sub-agent is found


class NestedRows(QAbstractTableModel):
    """The half of the timeline's model that knows places; what stands there it leaves to the other half."""

    def __init__(self, rows: Rows, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows = rows

    def _begin(self, session: str, count: int) -> None:
        self.session = session
        self._count = count
        self._pages = Pages(self._rows, session)
        self._folds = Folds()
        self._nests = Nests(self._folds.place)
        self._family = Family(self._rows.children, self._rows.session)
        self._gave: dict[str, int] = {}
        self._offered: set[str] = set()

    @property
    def count(self) -> int:
        """Rows of the session, folded ones too."""
        return self._count

    def step(self, place: int) -> Step | None:
        """The step at a place; None for the draft."""
        number, local = self._nests.at(place)
        if number:
            return self._nests[number].step(local)
        row = self._folds.row(local)
        return self._pages.step(row) if 0 <= row < self._count else None

    def step_of_row(self, row: int) -> Step | None:
        number, local = divmod(row, SPAN)
        if number > 0:
            return self._nests[number].step(local) if number in self._nests else None
        return self._pages.step(row) if 0 <= row < self._count else None

    def place(self, row: int) -> int | None:
        """Where a row stands; None while it is folded away."""
        number, local = divmod(row, SPAN)
        if number > 0:
            return self._nests.place(number, local) if number in self._nests else None
        shown = self._folds.place(row) if 0 <= row < self._count else None
        return None if shown is None else self._nests.place(0, shown)

    @property
    def _end(self) -> int:
        """Where the rows end."""
        return self._count - self._folds.hidden + self._nests.size

    # sub-agents

    @property
    def sessions(self) -> set[str]:
        """Those whose rows stand here: what their sub-agents do is of interest."""
        return {self.session, *(nest.session for nest in self._nests)}

    def origin(self, row: int) -> tuple[str, int]:
        """The session that a row belongs to, and which of its rows it is."""
        number, local = divmod(row, SPAN)
        return (self._nests[number].session, local) if number else (self.session, row)

    def row_in(self, session: str, row: int) -> int:
        """The other way round."""
        nest = None if session == self.session else self._nests.find(session=session)
        return nest.row(row) if nest else row

    def root_row(self, row: int) -> int:
        """The row of the session itself that stands for one of a sub-agent."""
        return self._nests.root(row)

    def gave(self, row: int) -> int | None:
        """Where the step stands that gave the work to which a row belongs; None for a row of the session itself."""
        return self.place(self._nests[row // SPAN].anchor) if row >= SPAN else None

    def is_nested(self, row: int) -> bool:
        return row >= SPAN

    def unfolded(self, row: int) -> bool | None:
        """Do the steps of the sub-agent stand below this row? None where there are none to show."""
        step = self.step_of_row(row)
        child = self._family.child(self.origin(row)[0], step.key) if step and step.kind == "delegate" else None
        if child is None or not child.rows:
            return None
        return self._nests.find(anchor=row) is not None

    def turn_nest(self, row: int) -> None:
        """Unfold the sub-agent that this step gave work to, or fold it away."""
        if nest := self._nests.find(anchor=row):
            self._close(nest)
        elif step := self.step_of_row(row):
            self._open(step)

    def hear_child(self, row: SessionRow, steps: Sequence[Step], *, at_tail: bool) -> None:
        """What a sub-agent does; one that begins, or ends, while the tail is looked at, unfolds and folds by itself."""
        self._family.hear(row)
        if (nest := self._nests.find(session=row.id)) and steps:
            self._grow(nest, steps)
        anchor = self._step_that_gave(row)
        if anchor is None or (place := self.place(anchor.row)) is None:
            return
        self._changed(place)
        going = row.status in OPEN
        if at_tail and going and row.id not in self._offered and row.rows and nest is None:
            self._open(anchor)
            self._offered.add(row.id)
        elif at_tail and not going and nest and row.id in self._offered:
            self._offered.discard(row.id)
            self._close(nest)

    def _step_that_gave(self, row: SessionRow) -> Step | None:
        """The step that gave work to a sub-agent: not far from the end when it is first heard of."""
        if known := self.step_of_row(self._gave.get(row.id, -1)):
            return known
        owner = self._nests.find(session=row.parent)
        end = owner.count if owner else self._count
        rows = range(end - 1, max(-1, end - NEAR), -1)
        near = (self.step_of_row(owner.row(each) if owner else each) for each in rows)
        found = next((step for step in near if step and step.key == row.parent_call), None)
        if found:
            self._gave[row.id] = found.row
        return found

    def _open(self, step: Step) -> None:
        child = self._family.child(self.origin(step.row)[0], step.key)
        place = self.place(step.row)
        if child is None or place is None or not child.rows or self._nests.find(anchor=step.row):
            return
        self.beginInsertRows(QModelIndex(), place + 1, place + child.rows)
        self._nests.open(step.row, child.id, Pages(self._rows, child.id), child.rows, step)
        self.endInsertRows()
        self._changed(place)

    def _close(self, nest: Nest) -> None:
        place, gone = self.place(nest.anchor), self._nests.within(nest)
        if place is not None:
            self.beginRemoveRows(QModelIndex(), place + 1, place + sum(each.count for each in gone))
            self._nests.close(nest)
            self.endRemoveRows()
            for each in gone:
                self._family.leave(each.session)
            self._changed(place)

    def _grow(self, nest: Nest, steps: Sequence[Step]) -> None:
        """Rows of a sub-agent that are new or changed."""
        latest = {step.row: step for step in steps}
        for row in sorted(latest):
            nest.pages.put(latest[row])
            if row < nest.count:
                self._changed(self._nests.place(nest.number, row))
        end = max(latest) + 1
        if end > nest.count:
            place = self._nests.place(nest.number, nest.count)
            self.beginInsertRows(QModelIndex(), place, place + end - nest.count - 1)
            nest.count = end
            self._nests.lay_out()
            self.endInsertRows()

    def _changed(self, place: int) -> None:
        index = self.index(place, 0)
        self.dataChanged.emit(index, index)
