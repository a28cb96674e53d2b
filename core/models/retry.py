"""The delay before a failed request is retried: exponential backoff with jitter, but at least Retry-After."""

import random

from core.models.model import ModelError

MAX_ATTEMPTS = 4
RESTART_ATTEMPTS = 9  # about two minutes, in which a local server can restart and load its model
LOADING = "loading"  # the error of a server that is starting
RESTART_KINDS = (LOADING, "refused", "overloaded")  # the errors of a server that may be restarting
INITIAL_DELAY_S = 0.5
MAX_DELAY_S = 60.0
# The longest Retry-After that is accepted without a fallback model. It is long so that unattended runs do not fail.
MAX_RETRY_AFTER_S = 300.0


def retry_delay_s(
    error: ModelError, attempt: int, *, has_fallback: bool = False, has_answered: bool = False
) -> float | None:
    """Return the delay in seconds before the next attempt; None if the request must not be retried.

    Args:
        attempt: the number of failed attempts so far.
        has_fallback: whether another model can take over, so that a long Retry-After is not accepted.
        has_answered: whether the server has answered in this run, so that it may be restarting now.
    """
    is_starting = error.kind == LOADING or (has_answered and error.kind in RESTART_KINDS)
    max_attempts = RESTART_ATTEMPTS if is_starting and not has_fallback else MAX_ATTEMPTS
    max_retry_after_s = MAX_DELAY_S if has_fallback else MAX_RETRY_AFTER_S
    if not error.retryable or attempt >= max_attempts or error.retry_after_s > max_retry_after_s:
        return None
    backoff: float = min(MAX_DELAY_S, INITIAL_DELAY_S * 2 ** (attempt - 1))
    return max(error.retry_after_s, backoff * random.uniform(0.5, 1.0))
