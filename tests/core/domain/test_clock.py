"""Times that cannot have passed count as none, because the clock was set."""

from core.domain.clock import elapsed


def test_only_a_plausible_time_has_elapsed() -> None:
    assert [elapsed(100, end, 50) for end in (100, 130, 150, 151, 99)] == [0, 30, 50, 0, 0]
