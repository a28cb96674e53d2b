"""The time axis of the waterfall chart: shortened waits, zooming, panning, fitting, and the ticks of the ruler."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

from core.domain.clock import SECOND

MIN_RANGE = 1_000  # microseconds; the chart cannot be zoomed in to a shorter range
STEPS_S = (
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200,
    14400, 28800, 86400, 172800, 604800,
)  # fmt: skip


class ShortenedWaits:
    """Maps times to a time axis on which each wait longer than `max_length` takes only `max_length` microseconds."""

    def __init__(self, waits: Sequence[tuple[int, int]] = (), max_length: int = 0) -> None:
        self._max_length = max_length
        self.waits: list[tuple[int, int]] = []
        for start, end in sorted(waits):
            if self.waits and start <= self.waits[-1][1]:
                self.waits[-1] = (self.waits[-1][0], max(end, self.waits[-1][1]))
            else:
                self.waits.append((start, end))
        self.waits = [(start, end) for start, end in self.waits if end - start > max_length]
        self._starts = [start for start, _ in self.waits]
        self._saved = [0]
        for start, end in self.waits:
            self._saved.append(self._saved[-1] + end - start - max_length)

    @property
    def saved(self) -> int:
        """The number of microseconds by which the axis is shorter than the real time."""
        return self._saved[-1]

    def axis_time(self, at: int) -> int:
        """Return the position on the axis, in microseconds, of a real time. Without long waits, both are equal."""
        index = bisect_right(self._starts, at)
        if not index or at >= self.waits[index - 1][1]:
            return at - self._saved[index]
        start, end = self.waits[index - 1]
        return start - self._saved[index - 1] + (at - start) * self._max_length // (end - start)

    def stretches(self, start: int, end: int) -> list[tuple[int, int]]:
        """Return the parts of a time range that lie between the shortened waits."""
        bounds = [start, *(bound for wait in self.waits for bound in wait), end]
        return [pair for pair in list(pairwise(bounds))[::2] if pair[0] < pair[1]]


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

    def zoomed(self, factor: float, anchor: int, limits: tuple[int, int]) -> Self:
        """Return a scale that is zoomed in (factor below 1) or out, with the time `anchor` at the same place.

        `limits` are the first and last time that may be visible.
        """
        length = max(MIN_RANGE, round((self.end - self.start) * factor))
        share = (anchor - self.start) / max(1, self.end - self.start)
        return self._limited(anchor - round(length * share), length, limits)

    def panned(self, fraction: float, limits: tuple[int, int]) -> Self:
        """Return a scale that is panned by a fraction of the visible range. `limits` are the first and last time."""
        length = self.end - self.start
        return self._limited(self.start + round(length * fraction), length, limits)

    def fitted(self, began: int, ended: int, limits: tuple[int, int]) -> Self:
        """Return a scale in which the given time range fills most of the width.

        `limits` are the first and last time.
        """
        length = max(MIN_RANGE, round((ended - began) * 1.6))
        return self._limited((began + ended - length) // 2, length, limits)

    def step(self, room: int) -> int:
        """Return the tick interval in microseconds: the smallest one in STEPS_S that is at least `room` pixels wide."""
        min_step = (self.end - self.start) * room / max(1, self.width) / SECOND
        return round(next((step for step in STEPS_S if step >= min_step), STEPS_S[-1]) * SECOND)

    def ticks(self, step: int, zero: int, waits: ShortenedWaits) -> list[int]:
        """Return the real times of the visible ticks.

        Ticks are at multiples of `step`, counted from `zero`, outside of shortened waits.
        """
        times: list[int] = []
        for start, end in waits.stretches(zero, self.end + waits.saved):
            low = start + max(0, self.start - waits.axis_time(start))
            high = end - max(0, waits.axis_time(end) - self.end)
            times += range(zero - (zero - low) // step * step, high + 1, step)
        return times

    def _limited(self, start: int, length: int, limits: tuple[int, int]) -> Self:
        low, high = limits
        length = min(length, max(MIN_RANGE, high - low))
        start = min(max(low, start), max(low, high - length))
        return type(self)(start, start + length, self.left, self.width)


def elapsed_label(microseconds: int, step: int) -> str:
    """Format a duration as `0:00`, `1:30` or `2:05:00`, or with decimals if `step` is less than a second.

    `step` is the interval between the ticks of the ruler, in microseconds.
    """
    seconds = microseconds / SECOND
    if step < SECOND:
        digits = 3 if step < 10_000 else 2 if step < 100_000 else 1
        if seconds < 60:
            return f"{seconds:.{digits}f}s"
        seconds_width = 3 + digits  # two digits for the seconds, the decimal point, and the decimals
        return f"{int(seconds) // 60}:{seconds % 60:0{seconds_width}.{digits}f}"
    minutes, seconds_left = divmod(round(seconds), 60)
    hours, minutes_left = divmod(minutes, 60)
    return f"{hours}:{minutes_left:02}:{seconds_left:02}" if hours else f"{minutes}:{seconds_left:02}"
