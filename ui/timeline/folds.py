"""Which rows are folded away: sorted ranges, so that a million hidden rows cost no more than one."""

from bisect import bisect_right
from itertools import accumulate


class Folds:
    """Half-open, disjoint ranges of hidden rows, and the way between a row and its place on screen."""

    def __init__(self) -> None:
        self._ranges: list[tuple[int, int]] = []
        self._hidden: list[int] = [0]
        self._starts: list[int] = []
        self._places: list[int] = []

    @property
    def hidden(self) -> int:
        """How many rows are hidden."""
        return self._hidden[-1]

    def hide(self, first: int, end: int) -> None:
        """Hide a range that touches no hidden row, except at its edges."""
        if first >= end:
            return
        self._ranges.append((first, end))
        self._ranges.sort()
        joined: list[tuple[int, int]] = []
        for low, high in self._ranges:
            if joined and joined[-1][1] == low:
                joined[-1] = (joined[-1][0], high)
            else:
                joined.append((low, high))
        self._ranges = joined
        self._count()

    def show(self, first: int, end: int) -> None:
        """Show one hidden range again."""
        self._ranges.remove((first, end))
        self._count()

    def between(self, first: int, end: int) -> list[tuple[int, int]]:
        """The hidden ranges that lie inside."""
        return [pair for pair in self._ranges if first <= pair[0] and pair[1] <= end]

    def place(self, row: int) -> int | None:
        """Where a row stands on screen; None while it is hidden."""
        index = bisect_right(self._starts, row)
        if index and row < self._ranges[index - 1][1]:
            return None
        return row - self._hidden[index]

    def row(self, place: int) -> int:
        """Which row stands at a place on screen."""
        return place + self._hidden[bisect_right(self._places, place)]

    def _count(self) -> None:
        self._starts = [first for first, _ in self._ranges]
        self._hidden = list(accumulate((end - first for first, end in self._ranges), initial=0))
        self._places = [first - hidden for first, hidden in zip(self._starts, self._hidden, strict=False)]
