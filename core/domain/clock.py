"""The current time in microseconds since 1970 UTC, the unit of every event and row."""

import time
from typing import Protocol

SECOND = 1_000_000


class Clock(Protocol):
    """A source of the current time; tests pass their own."""

    def __call__(self) -> int: ...


def now() -> int:
    """Return the system time. It may jump backwards; the journal compensates, so event times never decrease."""
    return time.time_ns() // 1000


def elapsed(start: int, end: int, longest: int) -> int:
    """Return the microseconds between two times, or 0 if the clock was set in between.

    It was if the time ran backwards, or if more than `longest` has passed.
    """
    passed = end - start
    return passed if 0 <= passed <= longest else 0
