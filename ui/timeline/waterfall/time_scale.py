"""The time axis of the waterfall chart: shortened waits, zooming, panning, fitting, and the ticks of the ruler."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

from core.domain.clock import SECOND

MIN_RANGE = 1_000  # microseconds: the shortest range that can be shown
STEPS_S = (
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200,
    14400, 28800, 86400, 172800, 604800,
)  # fmt: skip


class ShortenedWaits:
    """Maps times to an axis on which each long wait takes only `max_length` microseconds."""

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
        """By how much the axis is shorter than the time."""
        return self._saved[-1]

    def axis_time(self, at: int) -> int:
        """Return the time on the axis. Without waits, it is the same."""
        index = bisect_right(self._starts, at)
        if not index or at >= self.waits[index - 1][1]:
            return at - self._saved[index]
        start, end = self.waits[index - 1]
        return start - self._saved[index - 1] + (at - start) * self._max_length // (end - start)

    def stretches(self, start: int, end: int) -> list[tuple[int, int]]:
        """Return the parts of the range between the waits."""
        bounds = [start, *(bound for wait in self.waits for bound in wait), end]
        return [pair for pair in list(pairwise(bounds))[::2] if pair[0] < pair[1]]


@dataclass(frozen=True, slots=True)
class TimeScale:
    """Maps times from `start` to `end` (microseconds) to `width` pixels, which begin `left` pixels from the edge."""

    start: int
    end: int
    left: int = 0
    width: int = 1

    def to_x(self, at: int) -> float:
        return self.left + self.width * (at - self.start) / max(1, self.end - self.start)

    def to_time(self, x: float) -> int:
        return self.start + round((x - self.left) / max(1, self.width) * (self.end - self.start))

    def zoomed(self, factor: float, anchor: int, limits: tuple[int, int]) -> Self:
        """Zoom in (factor below 1) or out; the time `anchor` stays at its position."""
        length = max(MIN_RANGE, round((self.end - self.start) * factor))
        share = (anchor - self.start) / max(1, self.end - self.start)
        return self._limited(anchor - round(length * share), length, limits)

    def panned(self, fraction: float, limits: tuple[int, int]) -> Self:
        """Pan by a fraction of the visible range."""
        length = self.end - self.start
        return self._limited(self.start + round(length * fraction), length, limits)

    def fitted(self, began: int, ended: int, limits: tuple[int, int]) -> Self:
        """Zoom so that the given time range fills most of the width."""
        length = max(MIN_RANGE, round((ended - began) * 1.6))
        return self._limited((began + ended - length) // 2, length, limits)

    def step(self, room: int) -> int:
        """Return the tick interval in microseconds: the smallest one in STEPS_S that is at least `room` pixels wide."""
        min_step = (self.end - self.start) * room / max(1, self.width) / SECOND
        return round(next((step for step in STEPS_S if step >= min_step), STEPS_S[-1]) * SECOND)

    def ticks(self, step: int, zero: int, waits: ShortenedWaits) -> list[int]:
        """Return the times of the visible ticks, which are multiples of `step` from `zero` outside of the waits."""
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
    """Format as `0:00`, `1:30` or `2:05:00`, with decimals if ticks are less than a second apart."""
    seconds = microseconds / SECOND
    if step < SECOND:
        digits = 3 if step < 10_000 else 2 if step < 100_000 else 1
        if seconds < 60:
            return f"{seconds:.{digits}f}s"
        seconds_width = 3 + digits  # two digits, the decimal point and the decimals
        return f"{int(seconds) // 60}:{seconds % 60:0{seconds_width}.{digits}f}"
    minutes, seconds_left = divmod(round(seconds), 60)
    hours, minutes_left = divmod(minutes, 60)
    return f"{hours}:{minutes_left:02}:{seconds_left:02}" if hours else f"{minutes}:{seconds_left:02}"
