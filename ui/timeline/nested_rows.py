"""Positions in the timeline model: the rows of a session, with the rows of expanded sub-agents in between."""

from collections.abc import Sequence

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject

from core.domain.sessions import SessionRow
from core.domain.steps import OPEN_STATUSES, Step
from ui.timeline.folds import Folds
from ui.timeline.nest_layout import SPAN, Nest, NestLayout
from ui.timeline.step_pages import StepPages, StepSource
from ui.timeline.sub_agent_sessions import SubAgentSessions

SEARCHED_ROWS = 200  # rows from the end that are searched for the step that started a sub-agent


class NestedRows(QAbstractTableModel):
    """Base class of `TimelineModel` that maps rows to positions; the subclass provides the contents."""

    def __init__(self, rows: StepSource, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows = rows

    def _begin(self, session: str, count: int) -> None:
        self.session = session
        self._count = count
        self._pages = StepPages(self._rows, session)
        self._folds = Folds()
        self._nests = NestLayout(self._folds.position_of)
        self._family = SubAgentSessions(self._rows.children, self._rows.session)
        self._delegating_rows: dict[str, int] = {}
        self._auto_expanded: set[str] = set()

    @property
    def count(self) -> int:
        """The number of rows of the session, including folded ones."""
        return self._count

    def step_at(self, position: int) -> Step | None:
        """Return the step at a position; None for the draft."""
        number, local = self._nests.row_at(position)
        if number:
            return self._nests[number].step(local)
        row = self._folds.row_at(local)
        return self._pages.step(row) if 0 <= row < self._count else None

    def step_of_row(self, row: int) -> Step | None:
        number, local = divmod(row, SPAN)
        if number > 0:
            return self._nests[number].step(local) if number in self._nests else None
        return self._pages.step(row) if 0 <= row < self._count else None

    def position_of(self, row: int) -> int | None:
        """Return the position of a row; None while it is folded."""
        number, local = divmod(row, SPAN)
        if number > 0:
            return self._nests.position_of(number, local) if number in self._nests else None
        root_position = self._folds.position_of(row) if 0 <= row < self._count else None
        return None if root_position is None else self._nests.position_of(0, root_position)

    @property
    def _end(self) -> int:
        """The number of positions, without the draft."""
        return self._count - self._folds.hidden_count + self._nests.size

    @property
    def sessions(self) -> set[str]:
        """The main session and the expanded sub-agents, whose sub-agents' updates belong in this model."""
        return {self.session, *(nest.session for nest in self._nests)}

    def origin(self, row: int) -> tuple[str, int]:
        """Return the session of a row and the row within that session."""
        number, local = divmod(row, SPAN)
        return (self._nests[number].session, local) if number else (self.session, row)

    def row_number(self, session: str, row: int) -> int:
        """Return the number in this model of a session's row; the inverse of `origin`."""
        nest = None if session == self.session else self._nests.find(session=session)
        return nest.row_number(row) if nest else row

    def root_row(self, row: int) -> int:
        """Return the row of the top session under which a row is nested."""
        return self._nests.root_row(row)

    def delegating_position(self, row: int) -> int | None:
        """Return the position of the step that started the sub-agent of a row; None for rows of the top session."""
        return self.position_of(self._nests[row // SPAN].anchor) if row >= SPAN else None

    def is_nested(self, row: int) -> bool:
        return row >= SPAN

    def is_expanded(self, row: int) -> bool | None:
        """Return whether the sub-agent of a row is expanded; None if the row has no sub-agent with steps."""
        step = self.step_of_row(row)
        child = self._family.session_of(self.origin(row)[0], step.key) if step and step.kind == "delegate" else None
        if child is None or not child.rows:
            return None
        return self._nests.find(anchor=row) is not None

    def toggle_sub_agent(self, row: int) -> None:
        """Expand or collapse the sub-agent that the step in this row started."""
        if nest := self._nests.find(anchor=row):
            self._close(nest)
        elif step := self.step_of_row(row):
            self._open(step)

    def apply_sub_agent_update(self, row: SessionRow, steps: Sequence[Step], *, at_tail: bool) -> None:
        """Apply an update of a sub-agent. At the tail, sub-agents expand when they start and collapse when they end."""
        self._family.update(row)
        if (nest := self._nests.find(session=row.id)) and steps:
            self._update_nest(nest, steps)
        anchor = self._delegating_step(row)
        if anchor is None or (position := self.position_of(anchor.row)) is None:
            return
        self._changed(position)
        going = row.status in OPEN_STATUSES
        if at_tail and going and row.id not in self._auto_expanded and row.rows and nest is None:
            self._open(anchor)
            self._auto_expanded.add(row.id)
        elif at_tail and not going and nest and row.id in self._auto_expanded:
            self._auto_expanded.discard(row.id)
            self._close(nest)

    def _delegating_step(self, row: SessionRow) -> Step | None:
        """Return the step that started a sub-agent; searched from the end, where it is at the first update."""
        if cached_step := self.step_of_row(self._delegating_rows.get(row.id, -1)):
            return cached_step
        owner = self._nests.find(session=row.parent)
        end = owner.count if owner else self._count
        rows = range(end - 1, max(-1, end - SEARCHED_ROWS), -1)
        recent_steps = (self.step_of_row(owner.row_number(local_row) if owner else local_row) for local_row in rows)
        delegating_step = next((step for step in recent_steps if step and step.key == row.parent_call), None)
        if delegating_step:
            self._delegating_rows[row.id] = delegating_step.row
        return delegating_step

    def _open(self, step: Step) -> None:
        child = self._family.session_of(self.origin(step.row)[0], step.key)
        position = self.position_of(step.row)
        if child is None or position is None or not child.rows or self._nests.find(anchor=step.row):
            return
        self.beginInsertRows(QModelIndex(), position + 1, position + child.rows)
        self._nests.open(step.row, child.id, StepPages(self._rows, child.id), child.rows, step)
        self.endInsertRows()
        self._changed(position)

    def _close(self, nest: Nest) -> None:
        position, closed_nests = self.position_of(nest.anchor), self._nests.with_descendants(nest)
        if position is not None:
            removed_rows = sum(closed_nest.count for closed_nest in closed_nests)
            self.beginRemoveRows(QModelIndex(), position + 1, position + removed_rows)
            self._nests.close(nest)
            self.endRemoveRows()
            for closed_nest in closed_nests:
                self._family.forget(closed_nest.session)
            self._changed(position)

    def _update_nest(self, nest: Nest, steps: Sequence[Step]) -> None:
        """Apply new and changed steps of a sub-agent."""
        latest = {step.row: step for step in steps}
        for row in sorted(latest):
            nest.pages.update(latest[row])
            if row < nest.count:
                self._changed(self._nests.position_of(nest.number, row))
        end = max(latest) + 1
        if end > nest.count:
            position = self._nests.position_of(nest.number, nest.count)
            self.beginInsertRows(QModelIndex(), position, position + end - nest.count - 1)
            nest.count = end
            self._nests.lay_out()
            self.endInsertRows()

    def _changed(self, position: int) -> None:
        index = self.index(position, 0)
        self.dataChanged.emit(index, index)
