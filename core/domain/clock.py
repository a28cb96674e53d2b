"""The current time in microseconds since 1970 UTC, the unit of every event and row."""

import time
from typing import Protocol

SECOND = 1_000_000


class Clock(Protocol):
    """A source of the current time, for which tests pass a fake."""

    def __call__(self) -> int: ...


def now() -> int:
    """Return the system time in microseconds since 1970. It may jump backwards; the event log compensates for that."""
    return time.time_ns() // 1000


def elapsed(start: int, end: int, longest: int) -> int:
    """Return the microseconds from `start` to `end`, or 0 if the clock must have been set in between.

    That is assumed if the time ran backwards, or if more than `longest` microseconds have passed.
    """
    passed = end - start
    return passed if 0 <= passed <= longest else 0
