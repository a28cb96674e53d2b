"""Converts between rows and visible positions while ranges of rows are hidden (folded).

The time this takes does not depend on the length of the ranges.
"""

from bisect import bisect_right
from itertools import accumulate


class Folds:
    """The hidden rows, as disjoint half-open ranges.

    A row is an index among all rows; a position is an index among the visible ones.
    """

    def __init__(self) -> None:
        self._ranges: list[tuple[int, int]] = []
        self._hidden: list[int] = [0]
        self._starts: list[int] = []
        self._start_positions: list[int] = []

    @property
    def hidden_count(self) -> int:
        """The number of hidden rows."""
        return self._hidden[-1]

    def hide(self, first: int, end: int) -> None:
        """Hide a range of rows, which may adjoin a hidden range but not overlap it."""
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
        self._rebuild()

    def show(self, first: int, end: int) -> None:
        """Show a hidden range again; `first` and `end` must be exactly the bounds with which it was hidden."""
        self._ranges.remove((first, end))
        self._rebuild()

    def between(self, first: int, end: int) -> list[tuple[int, int]]:
        """Return the hidden ranges between rows `first` and `end`."""
        return [pair for pair in self._ranges if first <= pair[0] and pair[1] <= end]

    def position_of(self, row: int) -> int | None:
        """Return the position of a row among the visible rows; None if the row is hidden."""
        index = bisect_right(self._starts, row)
        if index and row < self._ranges[index - 1][1]:
            return None
        return row - self._hidden[index]

    def row_at(self, position: int) -> int:
        """Return the row at a position among the visible rows."""
        return position + self._hidden[bisect_right(self._start_positions, position)]

    def _rebuild(self) -> None:
        self._starts = [first for first, _ in self._ranges]
        self._hidden = list(accumulate((end - first for first, end in self._ranges), initial=0))
        self._start_positions = [first - hidden for first, hidden in zip(self._starts, self._hidden, strict=False)]
