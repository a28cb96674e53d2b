"""Rows of sub-agents that stand among those of the session that gave them work: which, and where."""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from core.domain.steps import Step
from ui.timeline.pages import Pages

SPAN: Final = 1 << 40  # more rows than a session has: a row of a nest is told from one of the session by it
UNSEEN: Final = frozenset({"run", "person", "end"})  # what the step that gave the work says already


@dataclass(slots=True)
class Nest:
    """An unfolded session; `anchor` is the row that gave it work, `run` the run whose time its bars share."""

    number: int
    anchor: int
    session: str
    pages: Pages
    count: int
    run: int
    depth: int

    def row(self, local: int) -> int:
        """What a row of the session is called among the others."""
        return self.number * SPAN + local

    def step(self, local: int) -> Step | None:
        step = self.pages.step(local) if 0 <= local < self.count else None
        return step and step._replace(row=self.row(local), run=self.run, depth=self.depth)


class _Part(NamedTuple):
    """Rows that stand together: from `first` on, at the places from `start` on."""

    start: int
    number: int
    first: int


class Nests:
    """No row is held: a list of as many parts as there are nests tells where each of a million rows stands.

    `place_of` knows where a row of the session itself would stand without nests; its number is 0.
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
        """How many rows they all have."""
        return sum(nest.count for nest in self)

    def find(self, *, anchor: int = -1, session: str = "") -> Nest | None:
        """The one of a row, or of a session."""
        return next((nest for nest in self if nest.anchor == anchor or nest.session == session), None)

    def within(self, nest: Nest) -> list[Nest]:
        """It and what is unfolded in it."""
        inner = [each for other in self if other.anchor // SPAN == nest.number for each in self.within(other)]
        return [nest, *inner]

    def root(self, row: int) -> int:
        """The row of the session itself under which a row stands."""
        while number := row // SPAN:
            row = self._nests[number].anchor
        return row

    def open(self, anchor: int, session: str, pages: Pages, count: int, step: Step) -> None:
        """Unfold a session under the step that gave it work."""
        self._last += 1
        self._nests[self._last] = Nest(self._last, anchor, session, pages, count, step.run, step.depth + 1)
        self.lay_out()

    def close(self, nest: Nest) -> None:
        for each in self.within(nest):
            del self._nests[each.number]
        self.lay_out()

    def at(self, place: int) -> tuple[int, int]:
        """Which nest, and which of its rows, stands at a place."""
        part = self._parts[bisect_right(self._starts, place) - 1]
        return part.number, part.first + place - part.start

    def place(self, number: int, local: int) -> int:
        """Where a row stands."""
        parts = self._of[number]
        part = parts[bisect_right(parts, local, key=lambda part: part.first) - 1]
        return part.start + local - part.first

    def lay_out(self) -> None:
        """Anew: something was folded or has grown."""
        self._parts: list[_Part] = []
        self._of: dict[int, list[_Part]] = {}
        self._lay(0, 0, 0)
        self._starts = [part.start for part in self._parts]

    def _lay(self, number: int, start: int, count: int) -> int:
        """One session with what is unfolded in it; returns where it ends."""
        first = 0
        self._add(start, number, first)
        for anchor, nest in self._anchored(number):
            start += anchor + 1 - first
            first = anchor + 1
            start = self._lay(nest.number, start, nest.count)
            self._add(start, number, first)
        return start + count - first

    def _anchored(self, number: int) -> list[tuple[int, Nest]]:
        found = []
        for nest in self:
            owner, row = divmod(nest.anchor, SPAN)
            if owner == number:
                found.append((row if number else self._place_of(row) or 0, nest))
        return sorted(found, key=lambda pair: pair[0])

    def _add(self, start: int, number: int, first: int) -> None:
        part = _Part(start, number, first)
        self._parts.append(part)
        self._of.setdefault(number, []).append(part)
