"""The time axis of a session. It maps rows and times to positions from 0 to 1, with long pauses shortened."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from statistics import median
from typing import Self

from core.store.row_sampling import RowSample

MAX_GAP_FACTOR = 5  # longest distance between two times on the axis, as a multiple of the median time between two rows


class TimeAxis:
    """Converts between times in microseconds, rows of the timeline, and positions from 0 to 1."""

    def __init__(
        self, rows: Sequence[int], row_positions: Sequence[float], times: Sequence[int], time_positions: Sequence[float]
    ) -> None:
        self._rows = rows
        self._row_positions = row_positions
        self._times = times
        self._time_positions = time_positions

    @classmethod
    def of(cls, samples: Sequence[RowSample], until: int) -> Self:
        """Return the axis for these rows, which are in order of their start. It ends at the time `until`."""
        if not samples:
            return cls((0, 1), (0.0, 1.0), (0, 1), (0.0, 1.0))
        starts = [samples[0].started_at]
        for sample in samples[1:]:
            starts.append(max(starts[-1], sample.started_at))
        starts.append(max(starts[-1] + 1, until))
        gaps = [later - earlier for earlier, later in pairwise(starts)]
        longest = MAX_GAP_FACTOR * median([gap for gap in gaps if gap > 0] or [1])
        # The ends of steps are points of the axis too, so that not a step but only the pause after it is shortened.
        ends = (sample.ended_at for sample in samples if starts[0] < sample.ended_at < starts[-1])
        times = sorted({*starts, *ends})
        lengths = (min(later - earlier, longest) for earlier, later in pairwise(times))
        positions = list(accumulate(lengths, initial=0.0))
        time_positions = [position / positions[-1] for position in positions]
        rows = [sample.row for sample in samples]
        row_positions = [_between(times, time_positions, start) for start in starts]
        return cls([*rows, rows[-1] + 1], row_positions, times, time_positions)

    def position_of_time(self, at: int) -> float:
        """Return the position of a time."""
        return _between(self._times, self._time_positions, at)

    def position_of_row(self, row: float) -> float:
        """Return the position at which a row starts."""
        return _between(self._rows, self._row_positions, row)

    def row_at(self, position: float) -> int:
        """Return the row at a position."""
        return int(_between(self._row_positions, self._rows, position))


def _between(xs: Sequence[float], ys: Sequence[float], x: float) -> float:
    """Return the value at `x` of the line through the points (xs, ys). Beyond the ends, return the value of the end."""
    if x <= xs[0]:
        return ys[0]
    if x >= xs[-1]:
        return ys[-1]
    right = bisect_right(xs, x)  # index of the first point after x
    left = right - 1
    fraction = (x - xs[left]) / (xs[right] - xs[left])
    return ys[left] + fraction * (ys[right] - ys[left])
