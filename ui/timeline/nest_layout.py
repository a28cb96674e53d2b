"""The layout of expanded sub-agents: maps positions to rows of nested sessions and back."""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from core.domain.steps import Step
from ui.timeline.step_pages import StepPages

SPAN: Final = 1 << 40  # row numbers from SPAN on belong to nested sessions; no session has as many rows
HIDDEN_KINDS: Final = frozenset({"run", "user", "end"})  # in nests: the delegating step shows this already


@dataclass(slots=True)
class Nest:
    """The rows of an expanded sub-agent. `anchor` is the delegating row, `run` the run whose time axis its bars use."""

    number: int
    anchor: int
    session: str
    pages: StepPages
    count: int
    run: int
    depth: int

    def row_number(self, local: int) -> int:
        """Return the model-wide number of a row of this session."""
        return self.number * SPAN + local

    def step(self, local: int) -> Step | None:
        step = self.pages.step(local) if 0 <= local < self.count else None
        return step and step._replace(row=self.row_number(local), run=self.run, depth=self.depth)


class _Segment(NamedTuple):
    """Contiguous rows of one session, of which row `first` is at position `start`."""

    start: int
    number: int
    first: int


class NestLayout:
    """The expanded sub-agents (nests) and their layout. Memory use depends on the number of nests, not of rows.

    The session on display is nest number 0. `place_of` returns the position that its rows would have without nests.
    """

    def __init__(self, place_of: Callable[[int], int | None]) -> None:
        self._place_of = place_of
        self._nests: dict[int, Nest] = {}
        self._last = 0
        self.lay_out()

    def __iter__(self) -> Iterator[Nest]:
        return iter(self._nests.values())

    def __contains__(self, number: int) -> bool:
        return number in self._nests

    def __getitem__(self, number: int) -> Nest:
        return self._nests[number]

    @property
    def size(self) -> int:
        """The total number of rows of all nests."""
        return sum(nest.count for nest in self)

    def find(self, *, anchor: int = -1, session: str = "") -> Nest | None:
        """Return the nest below an anchor row, or the nest of a session."""
        return next((nest for nest in self if nest.anchor == anchor or nest.session == session), None)

    def with_descendants(self, nest: Nest) -> list[Nest]:
        """Return a nest with all nests inside it."""
        nests = [nest]
        for other in self:
            if other.anchor // SPAN == nest.number:
                nests += self.with_descendants(other)
        return nests

    def root_row(self, row: int) -> int:
        """Return the row of the top session under which a row is nested."""
        while number := row // SPAN:
            row = self._nests[number].anchor
        return row

    def open(self, anchor: int, session: str, pages: StepPages, count: int, step: Step) -> None:
        """Expand a session under the step that started it."""
        self._last += 1
        self._nests[self._last] = Nest(self._last, anchor, session, pages, count, step.run, step.depth + 1)
        self.lay_out()

    def close(self, nest: Nest) -> None:
        for closed_nest in self.with_descendants(nest):
            del self._nests[closed_nest.number]
        self.lay_out()

    def row_at(self, position: int) -> tuple[int, int]:
        """Return the nest number and the row within it at a position."""
        segment = self._segments[bisect_right(self._starts, position) - 1]
        return segment.number, segment.first + position - segment.start

    def position_of(self, number: int, local: int) -> int:
        """Return the position of a row of a nest."""
        segments = self._segments_of[number]
        segment = segments[bisect_right(segments, local, key=lambda segment: segment.first) - 1]
        return segment.start + local - segment.first

    def lay_out(self) -> None:
        """Recompute all positions after rows were folded, expanded or added."""
        self._segments: list[_Segment] = []
        self._segments_of: dict[int, list[_Segment]] = {}
        self._lay_out_session(0, 0, 0)
        self._starts = [segment.start for segment in self._segments]

    def _lay_out_session(self, number: int, start: int, count: int) -> int:
        """Lay out one session with the nests inside it; return the position after its end."""
        first = 0
        self._add_segment(start, number, first)
        for anchor, nest in self._anchored_nests(number):
            start += anchor + 1 - first
            first = anchor + 1
            start = self._lay_out_session(nest.number, start, nest.count)
            self._add_segment(start, number, first)
        return start + count - first

    def _anchored_nests(self, number: int) -> list[tuple[int, Nest]]:
        anchored = []
        for nest in self:
            owner, row = divmod(nest.anchor, SPAN)
            if owner == number:
                anchored.append((row if number else self._place_of(row) or 0, nest))
        return sorted(anchored, key=lambda pair: pair[0])

    def _add_segment(self, start: int, number: int, first: int) -> None:
        segment = _Segment(start, number, first)
        self._segments.append(segment)
        self._segments_of.setdefault(number, []).append(segment)
