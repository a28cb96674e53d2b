"""When to ask again after a failed request: exponential, with jitter, never sooner than the server wants."""

import random

from core.models.model import Fault

ATTEMPTS = 4
FIRST_S = 0.5
LONGEST_S = 60.0


def wait_s(fault: Fault, attempt: int) -> float | None:
    """Seconds before the next attempt; None where there is none."""
    if not fault.again or attempt >= ATTEMPTS or fault.after_s > LONGEST_S:
        return None
    backoff: float = min(LONGEST_S, FIRST_S * 2 ** (attempt - 1))
    return max(fault.after_s, backoff * random.uniform(0.5, 1.0))
