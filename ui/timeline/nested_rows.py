"""Converts between rows and positions in the timeline, in which the rows of expanded sub-agents are nested."""

from collections.abc import Sequence

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject

from core.domain.sessions import SessionRow
from core.domain.steps import OPEN_STATUSES, Step
from ui.timeline.folds import Folds
from ui.timeline.nest_layout import Nest, NestLayout, RowAddress
from ui.timeline.step_pages import StepPages, StepSource
from ui.timeline.sub_agent_sessions import SubAgentSessions

SEARCHED_ROWS = 200  # number of rows, from the end, in which the step that started a sub-agent is searched


class NestedRows(QAbstractTableModel):
    """Base class of `TimelineModel` that maps rows to positions; the subclass provides the contents.

    A row is the index of a step in its own session, a position its index in the timeline.
    """

    def __init__(self, rows: StepSource, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows = rows

    def _reset(self, session: str, count: int) -> None:
        self.session = session
        self._count = count
        self._pages = StepPages(self._rows, session)
        self._folds = Folds()
        self._nests = NestLayout(session, self._folds)
        self._sub_agents = SubAgentSessions(self._rows.children, self._rows.session)
        self._delegating_rows: dict[str, RowAddress] = {}
        self._auto_expanded: set[str] = set()

    @property
    def count(self) -> int:
        """The number of rows of the main session, including folded ones."""
        return self._count

    def address_at(self, position: int) -> RowAddress:
        """Return the session and row at a position.

        A reply being streamed has the row that the finished reply will get.
        """
        nest, row = self._nests.row_at(position)
        return RowAddress(nest.session if nest else self.session, row)

    def step_at(self, position: int) -> Step | None:
        """Return the step at a position, with its row in its own session; None for a reply that is being streamed."""
        nest, row = self._nests.row_at(position)
        return nest.step(row) if nest else self.step_of_row(row)

    def step_of_row(self, row: int) -> Step | None:
        """Return the step in a row of the main session; None if there is no such row."""
        return self._pages.step(row) if 0 <= row < self._count else None

    def _step(self, address: RowAddress) -> Step | None:
        nest = self._nests.of_session(address.session)
        return nest.step(address.row) if nest else self.step_of_row(address.row)

    def current_step(self, session: str, step: Step) -> Step:
        """Return the current state of a step that this model has returned earlier; `session` may be a sub-agent."""
        if session == self.session or self._nests.of_session(session):
            return self._step(RowAddress(session, step.row)) or step
        collapsed = self._rows.steps(session, step.row, 1)
        return collapsed[0]._replace(run=step.run, depth=step.depth) if collapsed else step

    def position_of(self, row: int, session: str = "") -> int | None:
        """Return the position of a row of a session (by default, of the main session); None if the row is not shown."""
        nest = self._nests.of_session(session)
        count = nest.count if nest else self._count
        return self._nests.position_of(session or self.session, row) if 0 <= row < count else None

    @property
    def _end(self) -> int:
        """The number of positions, not counting the reply being streamed."""
        return self._count - self._folds.hidden_count + self._nests.size

    @property
    def sessions(self) -> set[str]:
        """The main session and all expanded sub-agents.

        Updates of the sub-agents that these started affect this model.
        """
        return {self.session, *(nest.session for nest in self._nests)}

    def root_row(self, position: int) -> int:
        """Return the row of the main session at a position or, for a nested row, the row under which it is nested."""
        nest, row = self._nests.row_at(position)
        return self._nests.root_row(nest.anchor) if nest else row

    def delegating_position(self, position: int) -> int | None:
        """Return the position of the step that started the sub-agent of a row; None for rows of the main session."""
        nest, _ = self._nests.row_at(position)
        return self.position_of(nest.anchor.row, nest.anchor.session) if nest else None

    def is_expanded(self, position: int) -> bool | None:
        """Return whether the sub-agent that a step started is expanded.

        None if the step has not started a sub-agent, or that has no steps yet.
        """
        step = self.step_at(position)
        if step is None or step.kind != "delegate":
            return None
        address = self.address_at(position)
        child = self._sub_agents.session_of(address.session, step.key)
        if child is None or not child.rows:
            return None
        return self._nests.below(address) is not None

    def toggle_sub_agent(self, position: int) -> None:
        """Expand or collapse the sub-agent that the step at this position started."""
        address = self.address_at(position)
        if nest := self._nests.below(address):
            self._close(nest)
        else:
            self._open(address)

    def apply_sub_agent_update(self, row: SessionRow, steps: Sequence[Step], *, at_tail: bool) -> None:
        """Apply an update of a sub-agent.

        If the view follows new rows (`at_tail`), expand the sub-agent when it starts, and collapse it when it ends.
        """
        self._sub_agents.update(row)
        nest = self._nests.of_session(row.id)
        if nest and steps:
            self._update_nest(nest, steps)
        anchor = self._delegating_row(row)
        position = self.position_of(anchor.row, anchor.session) if anchor else None
        if anchor is None or position is None:
            return
        self._changed(position)
        if not at_tail:
            return
        is_active, was_expanded = row.status in OPEN_STATUSES, row.id in self._auto_expanded
        if is_active and row.rows and nest is None and not was_expanded:
            self._open(anchor)
            self._auto_expanded.add(row.id)
        elif not is_active and nest and was_expanded:
            self._auto_expanded.discard(row.id)
            self._close(nest)

    def _delegating_row(self, row: SessionRow) -> RowAddress | None:
        """Return the row of the step that started a sub-agent; None if the last rows do not contain it.

        The first update comes soon after the start, so the row is near the end; it is then cached.
        """
        if row.id in self._delegating_rows and self._step(self._delegating_rows[row.id]):
            return self._delegating_rows[row.id]
        owner = self._nests.of_session(row.parent)
        end = owner.count if owner else self._count
        for local_row in range(end - 1, max(-1, end - SEARCHED_ROWS), -1):
            address = RowAddress(row.parent if owner else self.session, local_row)
            step = self._step(address)
            if step and step.key == row.parent_call:
                self._delegating_rows[row.id] = address
                return address
        return None

    def _open(self, anchor: RowAddress) -> None:
        step, position = self._step(anchor), self.position_of(anchor.row, anchor.session)
        child = self._sub_agents.session_of(anchor.session, step.key) if step else None
        if step is None or position is None or child is None or not child.rows or self._nests.below(anchor):
            return
        self.beginInsertRows(QModelIndex(), position + 1, position + child.rows)
        self._nests.open(anchor, child.id, StepPages(self._rows, child.id), child.rows, step)
        self.endInsertRows()
        self._changed(position)

    def _close(self, nest: Nest) -> None:
        closed_nests = self._nests.with_descendants(nest)
        position = self.position_of(nest.anchor.row, nest.anchor.session)
        if position is not None:
            removed_rows = sum(closed_nest.count for closed_nest in closed_nests)
            self.beginRemoveRows(QModelIndex(), position + 1, position + removed_rows)
            self._nests.close(nest)
            self.endRemoveRows()
            for closed_nest in closed_nests:
                self._sub_agents.forget(closed_nest.session)
            self._changed(position)

    def _update_nest(self, nest: Nest, steps: Sequence[Step]) -> None:
        """Apply new and changed steps of a sub-agent."""
        latest = {step.row: step for step in steps}
        for row in sorted(latest):
            nest.pages.update(latest[row])
            if (position := self.position_of(row, nest.session)) is not None:
                self._changed(position)
        end = max(latest) + 1
        position = self._nests.position_of(nest.session, nest.count)
        if end > nest.count and position is not None:
            self.beginInsertRows(QModelIndex(), position, position + end - nest.count - 1)
            nest.count = end
            self._nests.lay_out()
            self.endInsertRows()

    def _changed(self, position: int) -> None:
        index = self.index(position, 0)
        self.dataChanged.emit(index, index)
