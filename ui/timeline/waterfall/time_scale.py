"""The time axis of the waterfall chart: shortened waits, zooming, panning, fitting, and the ticks of the ruler."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple, Self

from core.domain.clock import SECOND

MIN_RANGE = 1_000  # microseconds; the chart cannot be zoomed in to a shorter range
MINUTE_S, HOUR_S, DAY_S = 60, 3_600, 86_400
TICK_INTERVALS_S = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30),
    *(MINUTE_S, 2 * MINUTE_S, 5 * MINUTE_S, 10 * MINUTE_S, 15 * MINUTE_S, 30 * MINUTE_S),
    *(HOUR_S, 2 * HOUR_S, 4 * HOUR_S, 8 * HOUR_S, DAY_S, 2 * DAY_S, 7 * DAY_S),
)


class TimeRange(NamedTuple):
    """A range of time, in microseconds."""

    start: int
    end: int

    @property
    def length(self) -> int:
        return self.end - self.start


class ShortenedWaits:
    """Maps times to a time axis on which each wait longer than `max_length` takes only `max_length` microseconds."""

    def __init__(self, waits: Sequence[TimeRange] = (), max_length: int = 0) -> None:
        self._max_length = max_length
        self.waits = [wait for wait in _merged(waits) if wait.length > max_length]
        self._starts = [wait.start for wait in self.waits]
        # How much the first 0, 1, 2, … waits are shortened in total.
        self._saved = list(accumulate((wait.length - max_length for wait in self.waits), initial=0))

    @property
    def saved(self) -> int:
        """The number of microseconds by which the axis is shorter than the real time."""
        return self._saved[-1]

    def axis_time(self, at: int) -> int:
        """Return the position on the axis, in microseconds, of a real time. Without long waits, both are equal."""
        index = bisect_right(self._starts, at)
        if not index or at >= self.waits[index - 1].end:
            return at - self._saved[index]
        wait = self.waits[index - 1]
        return wait.start - self._saved[index - 1] + (at - wait.start) * self._max_length // wait.length

    def stretches(self, start: int, end: int) -> list[TimeRange]:
        """Return the parts of a time range that lie between the shortened waits."""
        edges = [TimeRange(start, start), *self.waits, TimeRange(end, end)]
        between = [TimeRange(before.end, after.start) for before, after in pairwise(edges)]
        return [stretch for stretch in between if stretch.length > 0]


def _merged(waits: Sequence[TimeRange]) -> list[TimeRange]:
    """Join waits that overlap, and sort them."""
    merged: list[TimeRange] = []
    for wait in sorted(waits):
        if merged and wait.start <= merged[-1].end:
            merged[-1] = TimeRange(merged[-1].start, max(wait.end, merged[-1].end))
        else:
            merged.append(wait)
    return merged


@dataclass(frozen=True, slots=True)
class TimeScale:
    """Maps axis times from `start` to `end` (microseconds) to `width` pixels, which begin at x = `left`."""

    start: int
    end: int
    left: int = 0
    width: int = 1

    def to_x(self, at: int) -> float:
        return self.left + self.width * (at - self.start) / max(1, self.end - self.start)

    def to_time(self, x: float) -> int:
        return self.start + round((x - self.left) / max(1, self.width) * (self.end - self.start))

    def zoomed(self, factor: float, anchor: int, limits: TimeRange) -> Self:
        """Return a scale that is zoomed in (factor below 1) or out, with the time `anchor` at the same place.

        `limits` is the range that may be visible.
        """
        length = max(MIN_RANGE, round((self.end - self.start) * factor))
        share = (anchor - self.start) / max(1, self.end - self.start)
        return self._limited(anchor - round(length * share), length, limits)

    def panned(self, fraction: float, limits: TimeRange) -> Self:
        """Return a scale that is panned by a fraction of the visible range, within `limits`."""
        length = self.end - self.start
        return self._limited(self.start + round(length * fraction), length, limits)

    def fitted(self, shown: TimeRange, limits: TimeRange) -> Self:
        """Return a scale in which the range `shown` fills most of the width, within `limits`."""
        length = max(MIN_RANGE, round(shown.length * 1.6))
        return self._limited((shown.start + shown.end - length) // 2, length, limits)

    def tick_interval(self, min_width: int) -> int:
        """Return the shortest tick interval that is at least `min_width` pixels wide, in microseconds."""
        shortest = (self.end - self.start) * min_width / max(1, self.width) / SECOND
        fitting = (interval for interval in TICK_INTERVALS_S if interval >= shortest)
        return round(next(fitting, TICK_INTERVALS_S[-1]) * SECOND)

    def ticks(self, interval: int, zero: int, waits: ShortenedWaits) -> list[int]:
        """Return the real times of the visible ticks.

        Ticks are at multiples of `interval`, counted from `zero`, outside of shortened waits.
        """
        times: list[int] = []
        for start, end in waits.stretches(zero, self.end + waits.saved):
            first_visible = start + max(0, self.start - waits.axis_time(start))
            last_visible = end - max(0, waits.axis_time(end) - self.end)
            first_tick = zero - (zero - first_visible) // interval * interval  # rounded up
            times += range(first_tick, last_visible + 1, interval)
        return times

    def _limited(self, start: int, length: int, limits: TimeRange) -> Self:
        length = min(length, max(MIN_RANGE, limits.length))
        start = min(max(limits.start, start), max(limits.start, limits.end - length))
        return type(self)(start, start + length, self.left, self.width)


def elapsed_label(microseconds: int, interval: int) -> str:
    """Format a duration as `0:00`, `1:30` or `2:05:00`, or with decimals if `interval` is less than a second.

    `interval` is that between the ticks of the ruler, in microseconds.
    """
    seconds = microseconds / SECOND
    if interval < SECOND:
        digits = 1
        if interval < SECOND // 100:
            digits = 3
        elif interval < SECOND // 10:
            digits = 2
        if seconds < 60:
            return f"{seconds:.{digits}f}s"
        seconds_width = 3 + digits  # two digits for the seconds, the decimal point, and the decimals
        return f"{int(seconds) // 60}:{seconds % 60:0{seconds_width}.{digits}f}"
    minutes, seconds_left = divmod(round(seconds), 60)
    hours, minutes_left = divmod(minutes, 60)
    return f"{hours}:{minutes_left:02}:{seconds_left:02}" if hours else f"{minutes}:{seconds_left:02}"
