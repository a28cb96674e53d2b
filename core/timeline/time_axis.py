"""The time axis of a session: maps rows and moments to positions between 0 and 1, with long pauses shortened."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import Self

from core.store.row_sampling import RowSample

MAX_GAP_FACTOR = 5  # longest gap between rows, as a multiple of the median gap


class TimeAxis:
    """Converts between moments (microseconds), rows, and positions between 0 and 1."""

    def __init__(self, rows: Sequence[int], times: Sequence[int], places: Sequence[float]) -> None:
        self._rows, self._times, self._places = rows, times, places

    @classmethod
    def of(cls, samples: Sequence[RowSample], until: int) -> Self:
        """Return the axis of these rows, given in order of their start, up to the moment `until`."""
        if not samples:
            return cls((0, 1), (0, 1), (0.0, 1.0))
        times = [samples[0].started_at]
        for sample in samples[1:]:
            times.append(max(times[-1], sample.started_at))
        times.append(max(times[-1] + 1, until))
        gaps = [later - earlier for earlier, later in pairwise(times)]
        typical_gap = median([gap for gap in gaps if gap > 0] or [1])
        positions, at = [0.0], 0.0
        for gap in gaps:
            at += min(gap, MAX_GAP_FACTOR * typical_gap)
            positions.append(at)
        length = at or 1.0
        rows = [sample.row for sample in samples]
        return cls([*rows, rows[-1] + 1], times, [position / length for position in positions])

    def position_of_time(self, at: int) -> float:
        """Return the position of a moment."""
        return _between(self._times, self._places, at)

    def position_of_row(self, row: float) -> float:
        """Return the position at which a row starts."""
        return _between(self._rows, self._places, row)

    def row_at(self, position: float) -> int:
        """Return the row at a position."""
        return int(_between(self._places, self._rows, position))


def _between(xs: Sequence[float], ys: Sequence[float], x: float) -> float:
    """Interpolate linearly between the points (xs, ys), and clamp at the ends."""
    if x <= xs[0]:
        return ys[0]
    if x >= xs[-1]:
        return ys[-1]
    right = bisect_right(xs, x)  # the first point after x
    left = right - 1
    fraction = (x - xs[left]) / (xs[right] - xs[left])
    return ys[left] + fraction * (ys[right] - ys[left])
