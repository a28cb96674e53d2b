"""What time it is, in microseconds since 1970: the one unit every fact and row uses."""

import time
from typing import Protocol

SECOND = 1_000_000


class Clock(Protocol):
    """Anything that tells the time; tests bring their own."""

    def __call__(self) -> int: ...


def now() -> int:
    """The wall clock. A journal never goes backwards even when this does."""
    return time.time_ns() // 1000
