"""Converts between rows and visible positions while ranges of rows are hidden (folded).

The time this takes does not depend on the length of the ranges.
"""

from bisect import bisect_right
from itertools import accumulate
from typing import NamedTuple


class RowRange(NamedTuple):
    """A half-open range of rows."""

    first: int
    end: int


class Folds:
    """The hidden rows, as disjoint half-open ranges.

    A row is an index among all rows; a position is an index among the visible ones.
    """

    def __init__(self) -> None:
        self._ranges: list[RowRange] = []
        self._hidden: list[int] = [0]  # the number of rows hidden in the first 0, 1, 2, … ranges
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
        joined: list[RowRange] = []
        for hidden in sorted([*self._ranges, RowRange(first, end)]):
            if joined and joined[-1].end == hidden.first:
                joined[-1] = RowRange(joined[-1].first, hidden.end)
            else:
                joined.append(hidden)
        self._ranges = joined
        self._rebuild()

    def show(self, first: int, end: int) -> None:
        """Show a hidden range again; `first` and `end` must be exactly the bounds with which it was hidden."""
        self._ranges.remove(RowRange(first, end))
        self._rebuild()

    def between(self, first: int, end: int) -> list[RowRange]:
        """Return the hidden ranges between rows `first` and `end`."""
        return [hidden for hidden in self._ranges if first <= hidden.first and hidden.end <= end]

    def position_of(self, row: int) -> int | None:
        """Return the position of a row among the visible rows; None if the row is hidden."""
        index = bisect_right(self._starts, row)
        if index and row < self._ranges[index - 1].end:
            return None
        return row - self._hidden[index]

    def row_at(self, position: int) -> int:
        """Return the row at a position among the visible rows."""
        return position + self._hidden[bisect_right(self._start_positions, position)]

    def _rebuild(self) -> None:
        self._starts = [hidden.first for hidden in self._ranges]
        self._hidden = list(accumulate((hidden.end - hidden.first for hidden in self._ranges), initial=0))
        self._start_positions = [first - hidden for first, hidden in zip(self._starts, self._hidden, strict=False)]
