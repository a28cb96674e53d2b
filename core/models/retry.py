"""The delay before a failed request is retried: exponential backoff with jitter, never below Retry-After."""

import random

from core.models.model import ModelError

MAX_ATTEMPTS = 4
RESTART_ATTEMPTS = 9  # two minutes, in which a server on this computer has started again and loaded its model
RESTART_KINDS = ("refused", "overloaded")  # how a server fails that is starting
INITIAL_DELAY_S = 0.5
MAX_DELAY_S = 60.0
MAX_RETRY_AFTER_S = (
    300.0  # longest Retry-After that is waited for without a fallback model, so that unattended runs do not fail
)


def retry_delay_s(
    error: ModelError, attempt: int, *, has_fallback: bool = False, has_answered: bool = False
) -> float | None:
    """Return the delay before the next attempt in seconds, or None if the request is not retried.

    Args:
        has_fallback: another model can take over, so a long Retry-After is not waited for.
        has_answered: the server has answered in this run. If it is gone, it may be starting again.
    """
    restarts = has_answered and not has_fallback and error.kind in RESTART_KINDS
    longest = MAX_DELAY_S if has_fallback else MAX_RETRY_AFTER_S
    if (
        not error.retryable
        or attempt >= (RESTART_ATTEMPTS if restarts else MAX_ATTEMPTS)
        or error.retry_after_s > longest
    ):
        return None
    backoff: float = min(MAX_DELAY_S, INITIAL_DELAY_S * 2 ** (attempt - 1))
    return max(error.retry_after_s, backoff * random.uniform(0.5, 1.0))
