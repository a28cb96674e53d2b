"""When a schedule is due: steps from its first time, days by the clock on the wall, what was missed."""

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.clock import SECOND
from core.domain.problems import Problem
from core.domain.schedule import Schedule, Scheduled, come, notice_of, read_every, read_when, words_of

FIRST = 1_700_000_000 * SECOND
DAY = 86_400 * SECOND
SECONDS = st.integers(0, 400 * 86_400)


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A place whose clocks change."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def made(every: str = "", first: int = FIRST) -> Schedule:
    return Schedule("k3f9", "Look.", "/tmp", "", first, first, every)


def at(*figures: int) -> int:
    return round(datetime(*figures).timestamp()) * SECOND  # type: ignore[arg-type]  # noqa: DTZ001 - as a person means


def test_once_is_due_once() -> None:
    assert come(made(), FIRST - 1) is None
    found = come(made(), FIRST + 9 * DAY)
    assert found is not None and (found.last, found.count, found.following) == (FIRST, 1, 0)
    assert come(replace(made(), due=0), FIRST + DAY) is None


@given(
    st.sampled_from(["1m", "15m", "7h", "1d", "3d", "2w"]), st.integers(0, 400 * 86_400), st.integers(0, 400 * 86_400)
)
def test_times_follow_each_other_and_none_is_counted_twice(every: str, first: int, later: int) -> None:
    """Met at two moments or at one, as many times have come."""
    schedule = made(every)
    one, two = sorted((FIRST + first * SECOND, FIRST + later * SECOND))
    met = come(schedule, one)
    assert met is not None and schedule.first <= met.last <= one < met.following
    after = come(replace(schedule, due=met.following), two)
    whole = come(schedule, two)
    assert whole is not None and whole.count == met.count + (after.count if after else 0)
    assert after is None or (after.last, after.following) == (whole.last, whole.following)


@pytest.mark.usefixtures("berlin")
def test_nine_o_clock_stays_nine_o_clock() -> None:
    """Also where the clocks are put forward in the night, and a time that there is not moves no other."""
    nine = made("1d", at(2026, 3, 27, 9, 0))
    found = come(nine, at(2026, 3, 29, 12, 0))
    assert found is not None and (found.last, found.count) == (at(2026, 3, 29, 9, 0), 3)
    assert found.last - at(2026, 3, 28, 9, 0) == 23 * 3600 * SECOND
    night = made("1d", at(2026, 3, 27, 2, 30))
    found = come(night, at(2026, 3, 30, 12, 0))
    assert found is not None and found.last == at(2026, 3, 30, 2, 30)


@pytest.mark.usefixtures("berlin")
def test_a_time_is_read_as_it_is_said() -> None:
    moment = at(2026, 5, 1, 12, 0)
    assert read_when("18:30", moment) == at(2026, 5, 1, 18, 30)
    assert read_when("9:05", moment) == at(2026, 5, 2, 9, 5)
    assert read_when("2026-12-31 23:59", moment) == read_when("2026-12-31T23:59", moment) == at(2026, 12, 31, 23, 59)
    for wrong in ("", "noon", "25:00", "2026-02-30 10:00", "2026-04-30 10:00", "99999-01-01 10:00"):
        with pytest.raises(Problem):
            read_when(wrong, moment)


def test_an_interval_is_read_as_it_is_said() -> None:
    assert read_every("15m") == (15, timedelta(minutes=1))
    for wrong in ("", "m", "0m", "-1h", "1y", "1.5h", "9999d", "1 h", "١h"):
        with pytest.raises(Problem):
            read_every(wrong)


def test_what_is_said_of_it() -> None:
    day = datetime.fromtimestamp(FIRST / SECOND, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
    assert words_of(made()) == f"once, {day}" and words_of(made("1d")) == f"every day, next {day}"
    assert words_of(made("2h")) == f"every 2 hours, next {day}"
    assert words_of(replace(made(), due=0)) == "once, done"
    assert notice_of(Scheduled("k3f9", FIRST)) == "begun by your schedule k3f9 (once)"
    late = notice_of(Scheduled("k3f9", FIRST, "1d", 2, late=True))
    assert "late: Journeyman was not there" in late and "2 earlier times passed unused" in late
