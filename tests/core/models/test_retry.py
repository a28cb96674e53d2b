"""Tests of retry delays: exponential backoff, never below Retry-After, limited in number."""

from hypothesis import given
from hypothesis import strategies as st

from core.models.model import ModelError
from core.models.retry import (
    INITIAL_DELAY_S,
    MAX_ATTEMPTS,
    MAX_DELAY_S,
    MAX_RETRY_AFTER_S,
    RESTART_ATTEMPTS,
    retry_delay_s,
)


@given(st.integers(1, MAX_ATTEMPTS - 1), st.floats(0, MAX_RETRY_AFTER_S))
def test_delays_grow_and_honor_the_server(attempt: int, after_s: float) -> None:
    wait = retry_delay_s(ModelError("no", retry_after_s=after_s), attempt)
    assert wait is not None
    assert (
        max(after_s, INITIAL_DELAY_S * 2 ** (attempt - 1) / 2)
        <= wait
        <= max(after_s, INITIAL_DELAY_S * 2 ** (attempt - 1))
    )


def test_some_errors_are_not_retried() -> None:
    assert retry_delay_s(ModelError("no", retryable=False), 1) is None
    assert retry_delay_s(ModelError("no"), MAX_ATTEMPTS) is None
    assert retry_delay_s(ModelError("no", retry_after_s=86_400), 1) is None


def test_a_delay_of_minutes_is_kept_unless_another_model_is_available() -> None:
    assert retry_delay_s(ModelError("no", retry_after_s=120), 1) == 120
    assert retry_delay_s(ModelError("no", retry_after_s=120), 1, has_fallback=True) is None
    assert retry_delay_s(ModelError("no", retry_after_s=MAX_DELAY_S), 1, has_fallback=True) == MAX_DELAY_S


def test_a_server_that_loads_its_model_is_waited_for_although_it_has_not_answered_yet() -> None:
    loading, busy = ModelError("loads", kind="loading"), ModelError("busy", kind="overloaded")
    assert retry_delay_s(loading, MAX_ATTEMPTS) is not None and retry_delay_s(busy, MAX_ATTEMPTS) is None
    assert retry_delay_s(busy, MAX_ATTEMPTS, has_answered=True) is not None
    assert retry_delay_s(loading, RESTART_ATTEMPTS) is None
    assert retry_delay_s(loading, MAX_ATTEMPTS, has_fallback=True) is None
