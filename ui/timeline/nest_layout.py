"""The layout of expanded sub-agents, whose rows are nested in the timeline: maps positions to rows and back."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from core.domain.steps import Step
from ui.timeline.folds import Folds
from ui.timeline.step_pages import StepPages

# Kinds of rows left out in a nest, because the row of the delegating step already shows their contents.
HIDDEN_KINDS: Final = frozenset({"run", "user", "end"})


class RowAddress(NamedTuple):
    """A row of the session shown, or of an expanded sub-agent."""

    session: str
    row: int


@dataclass(slots=True)
class Nest:
    """A nest: the rows of an expanded sub-agent, shown below the step that started it (the `anchor`).

    `run` is the run of the main session whose time axis the duration bars use.
    """

    session: str
    anchor: RowAddress
    pages: StepPages
    count: int
    run: int
    depth: int

    def step(self, row: int) -> Step | None:
        step = self.pages.step(row) if 0 <= row < self.count else None
        return step and step._replace(run=self.run, depth=self.depth)


class _Segment(NamedTuple):
    """A range of consecutive rows of one nest; row `first` is at position `start`.

    Without a nest, these are rows of the session shown, counted without folded rows.
    """

    start: int
    nest: Nest | None
    first: int


class NestedRow(NamedTuple):
    """A row of a nest; without a nest, a row of the session shown."""

    nest: Nest | None
    row: int


class NestLayout:
    """The nests (expanded sub-agents) and their layout.

    The memory needed depends on the number of nests, not of rows.
    """

    def __init__(self, session: str, folds: Folds) -> None:
        self._root = session
        self._folds = folds
        self._nests: dict[str, Nest] = {}
        self.lay_out()

    def __iter__(self) -> Iterator[Nest]:
        return iter(self._nests.values())

    @property
    def size(self) -> int:
        """The total number of rows of all nests."""
        return sum(nest.count for nest in self)

    def of_session(self, session: str) -> Nest | None:
        """Return the nest that shows the rows of a session; None if the session is not expanded."""
        return self._nests.get(session)

    def below(self, anchor: RowAddress) -> Nest | None:
        """Return the nest below the row that delegated to a sub-agent; None if that is not expanded."""
        return next((nest for nest in self if nest.anchor == anchor), None)

    def with_descendants(self, nest: Nest) -> list[Nest]:
        """Return a nest and all nests inside it, at any depth."""
        nests = [nest]
        for other in self:
            if other.anchor.session == nest.session:
                nests += self.with_descendants(other)
        return nests

    def root_row(self, address: RowAddress) -> int:
        """Return the row of the main session under which a row of a sub-agent is nested."""
        while nest := self._nests.get(address.session):
            address = nest.anchor
        return address.row

    def open(self, anchor: RowAddress, session: str, pages: StepPages, count: int, step: Step) -> None:
        """Expand the session of a sub-agent below the row of the step that started it."""
        self._nests[session] = Nest(
            session=session, anchor=anchor, pages=pages, count=count, run=step.run, depth=step.depth + 1
        )
        self.lay_out()

    def close(self, nest: Nest) -> None:
        for closed_nest in self.with_descendants(nest):
            del self._nests[closed_nest.session]
        self.lay_out()

    def row_at(self, position: int) -> NestedRow:
        """Return the row at a position."""
        segment = self._segments[bisect_right(self._starts, position) - 1]
        row = segment.first + position - segment.start
        return NestedRow(segment.nest, row if segment.nest else self._folds.row_at(row))

    def position_of(self, session: str, row: int) -> int | None:
        """Return the position of a row; None if the row is folded or its session is not expanded."""
        segments = self._segments_of.get(session)
        visible_row = self._folds.position_of(row) if session == self._root else row
        if segments is None or visible_row is None:
            return None
        segment = segments[bisect_right(segments, visible_row, key=lambda segment: segment.first) - 1]
        return segment.start + visible_row - segment.first

    def lay_out(self) -> None:
        """Recompute all positions. Called after rows have been folded, expanded or added."""
        self._segments: list[_Segment] = []
        self._segments_of: dict[str, list[_Segment]] = {}
        self._lay_out_rows(None, 0)
        self._starts = [segment.start for segment in self._segments]

    def _lay_out_rows(self, nest: Nest | None, start: int) -> int:
        """Lay out the rows of a session and its nests from position `start`; return the position after the last one."""
        first = 0
        self._add_segment(start, nest, first)
        for inner_nest in self._nests_inside(nest):
            row = self._unfolded_row(inner_nest.anchor)
            start = self._lay_out_rows(inner_nest, start + row + 1 - first)
            first = row + 1
            self._add_segment(start, nest, first)
        return start + nest.count - first if nest else start

    def _nests_inside(self, nest: Nest | None) -> list[Nest]:
        """Return the nests directly inside a session, in the order of the rows that they follow."""
        session = nest.session if nest else self._root
        inner_nests = [inner_nest for inner_nest in self if inner_nest.anchor.session == session]
        return sorted(inner_nests, key=lambda inner_nest: self._unfolded_row(inner_nest.anchor))

    def _unfolded_row(self, address: RowAddress) -> int:
        """Return a row as segments count it: in the session shown, without folded rows."""
        if address.session != self._root:
            return address.row
        return self._folds.position_of(address.row) or 0

    def _add_segment(self, start: int, nest: Nest | None, first: int) -> None:
        segment = _Segment(start, nest, first)
        self._segments.append(segment)
        self._segments_of.setdefault(nest.session if nest else self._root, []).append(segment)
