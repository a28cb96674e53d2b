"""When to ask again after a failed request: exponential, with jitter, never sooner than the server wants."""

import random

from core.models.model import Fault

ATTEMPTS = 4
FIRST_S = 0.5
LONGEST_S = 60.0
PATIENCE_S = 300.0  # where a server asks to wait and there is no other: a run that nobody attends would be lost


def wait_s(fault: Fault, attempt: int, *, others: bool = False) -> float | None:
    """Seconds before the next attempt; None where there is none. With `others` to ask, none is waited for long."""
    longest = LONGEST_S if others else PATIENCE_S
    if not fault.again or attempt >= ATTEMPTS or fault.after_s > longest:
        return None
    backoff: float = min(LONGEST_S, FIRST_S * 2 ** (attempt - 1))
    return max(fault.after_s, backoff * random.uniform(0.5, 1.0))
