"""The whole of a session on one short line: by time, with long silences cut short."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import Self

from core.store.marks import Mark

SILENCE = 5  # times the usual way from one row to the next


class Axis:
    """Places between 0 and 1 for moments and for rows, and back again."""

    def __init__(self, rows: Sequence[int], times: Sequence[int], places: Sequence[float]) -> None:
        self._rows, self._times, self._places = rows, times, places

    @classmethod
    def of(cls, marks: Sequence[Mark], until: int) -> Self:
        """The axis of these rows, which stand in the order in which they began, up to a last moment."""
        if not marks:
            return cls((0, 1), (0, 1), (0.0, 1.0))
        times = [marks[0].began]
        for mark in marks[1:]:
            times.append(max(times[-1], mark.began))
        times.append(max(times[-1] + 1, until))
        ways = [later - earlier for earlier, later in pairwise(times)]
        usual = median([way for way in ways if way > 0] or [1])
        places, at = [0.0], 0.0
        for way in ways:
            at += min(way, SILENCE * usual)
            places.append(at)
        whole = at or 1.0
        rows = [mark.row for mark in marks]
        return cls([*rows, rows[-1] + 1], times, [place / whole for place in places])

    def of_time(self, at: int) -> float:
        """Where a moment stands."""
        return _between(self._times, self._places, at)

    def of_row(self, row: float) -> float:
        """Where a row begins."""
        return _between(self._rows, self._places, row)

    def row(self, place: float) -> int:
        """The row that stands at a place."""
        return int(_between(self._places, self._rows, place))


def _between(known: Sequence[float], wanted: Sequence[float], at: float) -> float:
    """The straight line through known points; its ends go on level."""
    if at <= known[0]:
        return wanted[0]
    if at >= known[-1]:
        return wanted[-1]
    right = bisect_right(known, at)
    left = right - 1
    share = (at - known[left]) / (known[right] - known[left])
    return wanted[left] + share * (wanted[right] - wanted[left])
