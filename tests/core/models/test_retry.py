"""A failed request is made again: exponentially, never sooner than the server wants, and not for ever."""

from hypothesis import given
from hypothesis import strategies as st

from core.models.model import Fault
from core.models.retry import ATTEMPTS, FIRST_S, LONGEST_S, PATIENCE_S, wait_s


@given(st.integers(1, ATTEMPTS - 1), st.floats(0, PATIENCE_S))
def test_waits_grow_and_honour_the_server(attempt: int, after_s: float) -> None:
    wait = wait_s(Fault("no", after_s=after_s), attempt)
    assert wait is not None
    assert max(after_s, FIRST_S * 2 ** (attempt - 1) / 2) <= wait <= max(after_s, FIRST_S * 2 ** (attempt - 1))


def test_some_faults_are_not_tried_again() -> None:
    assert wait_s(Fault("no", again=False), 1) is None
    assert wait_s(Fault("no"), ATTEMPTS) is None
    assert wait_s(Fault("no", after_s=86_400), 1) is None


def test_a_server_that_asks_for_minutes_gets_them_unless_another_can_be_asked() -> None:
    assert wait_s(Fault("no", after_s=120), 1) == 120
    assert wait_s(Fault("no", after_s=120), 1, others=True) is None
    assert wait_s(Fault("no", after_s=LONGEST_S), 1, others=True) == LONGEST_S
