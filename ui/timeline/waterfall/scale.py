"""The stretch of time that the bars show: zoom, move, fit, and the marks of its ruler."""

from dataclasses import dataclass
from typing import Self

from core.domain.clock import SECOND

LEAST = 1_000  # a millisecond across the whole ruler
STEPS_S = (
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200,
    14400, 28800, 86400, 172800, 604800,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scale:
    """Moments between `start` and `end` stand on `width` pixels, `left` pixels from the edge."""

    start: int
    end: int
    left: int = 0
    width: int = 1

    def x(self, at: int) -> float:
        return self.left + self.width * (at - self.start) / max(1, self.end - self.start)

    def at(self, x: float) -> int:
        return self.start + round((x - self.left) / max(1, self.width) * (self.end - self.start))

    def zoomed(self, factor: float, around: int, limits: tuple[int, int]) -> Self:
        """Closer for a factor below 1; what stands under `around` stays there."""
        length = max(LEAST, round((self.end - self.start) * factor))
        share = (around - self.start) / max(1, self.end - self.start)
        return self._within(around - round(length * share), length, limits)

    def moved(self, share: float, limits: tuple[int, int]) -> Self:
        """By a share of what is seen."""
        length = self.end - self.start
        return self._within(self.start + round(length * share), length, limits)

    def fitted(self, began: int, ended: int, limits: tuple[int, int]) -> Self:
        """So that a stretch fills most of the ruler."""
        length = max(LEAST, round((ended - began) * 1.6))
        return self._within((began + ended - length) // 2, length, limits)

    def step(self, room: int) -> int:
        """The usual length nearest to `room` pixels from above: how far apart the marks of the ruler stand."""
        least = (self.end - self.start) * room / max(1, self.width) / SECOND
        return round(next((step for step in STEPS_S if step >= least), STEPS_S[-1]) * SECOND)

    def ticks(self, step: int, zero: int) -> list[int]:
        """The moments of the marks, counted from `zero`."""
        first = zero - (zero - self.start) // step * step
        return list(range(first, self.end + 1, step))

    def _within(self, start: int, length: int, limits: tuple[int, int]) -> Self:
        low, high = limits
        length = min(length, max(LEAST, high - low))
        start = min(max(low, start), max(low, high - length))
        return type(self)(start, start + length, self.left, self.width)


def since(microseconds: int, step: int) -> str:
    """`0:00`, `1:30`, `2:05:00`; with decimals where the marks stand closer than a second."""
    seconds = microseconds / SECOND
    if step < SECOND:
        digits = 3 if step < 10_000 else 2 if step < 100_000 else 1
        return (
            f"{seconds:.{digits}f}s" if seconds < 60 else f"{int(seconds) // 60}:{seconds % 60:0{3 + digits}.{digits}f}"
        )
    whole = round(seconds)
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"
