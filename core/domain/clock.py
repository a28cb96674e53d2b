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
