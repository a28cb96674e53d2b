"""Schedules: due times counted from the first time, local time for days, and missed times."""

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.clock import SECOND
from core.domain.problems import Problem
from core.domain.schedule import (
    Interval,
    IntervalUnit,
    Schedule,
    ScheduleTriggered,
    describe_schedule,
    due_times,
    parse_interval,
    parse_time,
    schedule_notice,
)

FIRST = 1_700_000_000 * SECOND
DAY = 86_400 * SECOND
SECONDS = st.integers(0, 400 * 86_400)


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Use a time zone with daylight saving time."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def made(every: str = "", first: int = FIRST) -> Schedule:
    return Schedule("k3f9", "Look.", "/tmp", "", first, first, every)


def at(*figures: int) -> int:
    return round(datetime(*figures).timestamp()) * SECOND  # type: ignore[arg-type]  # noqa: DTZ001 - local time


def test_a_one_time_schedule_is_due_once() -> None:
    assert due_times(made(), FIRST - 1) is None
    found = due_times(made(), FIRST + 9 * DAY)
    assert found is not None and (found.last, found.count, found.next) == (FIRST, 1, None)
    assert due_times(replace(made(), due=None), FIRST + DAY) is None


@given(
    st.sampled_from(["1m", "15m", "7h", "1d", "3d", "2w"]), st.integers(0, 400 * 86_400), st.integers(0, 400 * 86_400)
)
def test_times_are_in_order_and_counted_once(every: str, first: int, later: int) -> None:
    """Checking at two moments or only at the later one counts the same number of times."""
    schedule = made(every)
    one, two = sorted((FIRST + first * SECOND, FIRST + later * SECOND))
    met = due_times(schedule, one)
    assert met is not None and met.next is not None and schedule.first_due <= met.last <= one < met.next
    after = due_times(replace(schedule, due=met.next), two)
    whole = due_times(schedule, two)
    assert whole is not None and whole.count == met.count + (after.count if after else 0)
    assert after is None or (after.last, after.next) == (whole.last, whole.next)


@pytest.mark.usefixtures("berlin")
def test_a_daily_time_survives_daylight_saving() -> None:
    """A daily time stays the same after daylight saving time begins, even if it was skipped on that day."""
    nine = made("1d", at(2026, 3, 27, 9, 0))
    found = due_times(nine, at(2026, 3, 29, 12, 0))
    assert found is not None and (found.last, found.count) == (at(2026, 3, 29, 9, 0), 3)
    assert found.last - at(2026, 3, 28, 9, 0) == 23 * 3600 * SECOND
    night = made("1d", at(2026, 3, 27, 2, 30))
    found = due_times(night, at(2026, 3, 30, 12, 0))
    assert found is not None and found.last == at(2026, 3, 30, 2, 30)


@pytest.mark.usefixtures("berlin")
def test_a_time_is_parsed_as_displayed() -> None:
    moment = at(2026, 5, 1, 12, 0)
    assert parse_time("18:30", moment) == at(2026, 5, 1, 18, 30)
    assert parse_time("9:05", moment) == at(2026, 5, 2, 9, 5)
    assert parse_time("2026-12-31 23:59", moment) == parse_time("2026-12-31T23:59", moment) == at(2026, 12, 31, 23, 59)
    for wrong in ("", "noon", "25:00", "2026-02-30 10:00", "2026-04-30 10:00", "99999-01-01 10:00"):
        with pytest.raises(Problem):
            parse_time(wrong, moment)


def test_an_interval_is_parsed_as_displayed() -> None:
    assert parse_interval("15m") == Interval(15, IntervalUnit.MINUTE)
    for wrong in ("", "m", "0m", "-1h", "1y", "1.5h", "9999d", "1 h", "١h"):
        with pytest.raises(Problem):
            parse_interval(wrong)


def test_description_of_a_schedule() -> None:
    day = datetime.fromtimestamp(FIRST / SECOND, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
    assert describe_schedule(made()) == f"once, {day}" and describe_schedule(made("1d")) == f"every day, next {day}"
    assert describe_schedule(made("2h")) == f"every 2 hours, next {day}"
    assert describe_schedule(replace(made(), due=None)) == "once, done"
    assert describe_schedule(replace(made(), due=None, missed_count=1)) == "once, missed"
    assert schedule_notice(ScheduleTriggered("k3f9", FIRST)) == "started by your schedule k3f9 (once)"
    late = schedule_notice(ScheduleTriggered("k3f9", FIRST, "1d", 2, late=True))
    assert "late: Journeyman was not running" in late and "2 earlier times missed" in late
