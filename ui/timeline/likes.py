"""Reads that follow one another: three or more of them are one row until a person opens it."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from core.domain.steps import Step
from ui.looks import words
from ui.timeline.pages import PAGE

FEWEST: Final = 3
MOST: Final = 20  # so that a screen of them stands for hundreds of rows, not for a hundred thousand
NAMED: Final = 2
KEPT: Final = 50


class Group(NamedTuple):
    """The rows from `first` up to `end`, which is not one of them."""

    first: int
    end: int


class Likes:
    """Found a page at a time, so that a million rows cost nothing; no group reaches over the edge of a page."""

    def __init__(self, page: Callable[[int], Sequence[Step]]) -> None:
        self._page = page
        self._known: dict[int, list[Group]] = {}
        self._opened: set[int] = set()

    def group(self, row: int) -> Group | None:
        """The group a row belongs to, open or not."""
        number = row // PAGE
        if number not in self._known:
            self._known[number] = _groups(self._page(number))
            if len(self._known) > KEPT:
                del self._known[next(iter(self._known))]
        groups = self._known[number]
        place = bisect_right(groups, row, key=lambda group: group.first) - 1
        return groups[place] if place >= 0 and row < groups[place].end else None

    def closed(self, row: int) -> Group | None:
        """The group that stands as one row for this one."""
        group = self.group(row)
        return group if group and group.first not in self._opened else None

    def hides(self, row: int) -> bool:
        """Does another row stand for this one?"""
        group = self.closed(row)
        return group is not None and row != group.first

    def open(self, group: Group) -> None:
        self._opened.add(group.first)

    def turn(self, group: Group) -> None:
        """Open a closed one, close an open one."""
        self._opened ^= {group.first}

    def forget(self, rows: Sequence[int]) -> None:
        """These rows have changed."""
        for number in {row // PAGE for row in rows}:
            self._known.pop(number, None)


def _groups(steps: Sequence[Step]) -> list[Group]:
    found: list[Group] = []
    start = 0
    for at in range(1, len(steps) + 1):
        if at < len(steps) and at - start < MOST and _alike(steps[at - 1], steps[at]):
            continue
        if at - start >= FEWEST and _quiet(steps[start]):
            found.append(Group(steps[start].row, steps[at - 1].row + 1))
        start = at
    return found


def _alike(one: Step, other: Step) -> bool:
    return _quiet(one) and _quiet(other) and (one.run, one.depth) == (other.run, other.depth)


def _quiet(step: Step) -> bool:
    """A read that went well: whatever failed, waits or came from outside stands by itself."""
    return step.kind == "read" and step.status == "done" and not step.marks.get("outside")


def summary(steps: Sequence[Step]) -> Step:
    """One row for all of them: the first step's place, the time and the size of all."""
    names = list(dict.fromkeys(step.object.rsplit("/", 1)[-1] for step in steps))
    if len(names) == 1:
        said = words("{}, {} times").format(names[0], len(steps))
    else:
        rest = len(names) - NAMED
        shown = ", ".join(names[:NAMED]) + (f", +{rest}" if rest > 0 else "")
        said = words("{} files: {}").format(len(names), shown)
    held = sum(step.marks.get("bytes", 0) for step in steps)
    return steps[0]._replace(
        object=said,
        ended=max(step.ended for step in steps),
        marks={"bytes": held} if held else {},
        tokens=sum(step.tokens for step in steps),
    )
