"""Schedules: when sessions start automatically, and what happens if a scheduled time is missed."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Literal, get_args

from core.domain.clock import SECOND
from core.domain.modes import DEFAULT_MODE
from core.domain.problems import Problem

MissedPolicy = Literal["run", "skip"]
MISSED_POLICIES: tuple[MissedPolicy, ...] = get_args(MissedPolicy)
MAX_INTERVAL = 1000
LATE_AFTER = 120 * SECOND  # microseconds; a session that starts later than this counts as missed
TIME_HINT = "Enter it as 18:30 or as 2030-01-31 18:30."


class IntervalUnit(Enum):
    """A unit of time. Days and weeks follow local time, so they may be an hour longer or shorter at a clock change."""

    MINUTE = timedelta(minutes=1)
    HOUR = timedelta(hours=1)
    DAY = timedelta(days=1)
    WEEK = timedelta(weeks=1)

    @property
    def letter(self) -> str:
        return self.name[0].lower()


@dataclass(frozen=True, slots=True)
class Interval:
    """The interval between two sessions of a schedule, written as a number and the unit's first letter, such as 15m."""

    count: int
    unit: IntervalUnit

    @property
    def follows_local_time(self) -> bool:
        return self.unit in (IntervalUnit.DAY, IntervalUnit.WEEK)

    @property
    def duration(self) -> timedelta:
        duration: timedelta = self.count * self.unit.value
        return duration

    @property
    def microseconds(self) -> int:
        return self.duration // timedelta(microseconds=1)

    def __str__(self) -> str:
        name = self.unit.name.lower()
        return f"every {name}" if self.count == 1 else f"every {self.count} {name}s"


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule for starting sessions. Times are in microseconds; days and weeks follow local time.

    Attributes:
        task, folder, model, mode: parameters of the sessions to start.
        first_due: the first scheduled time.
        due: the next scheduled time; None if no further session will start.
        interval: `15m`, `2h`, `1d` or `1w`; "" for a single session.
        on_missed: what to do if Journeyman was not running at a scheduled time: run once when it starts, or skip.
        script: the script of the scripted model, for tests and demos.
        last_session: the id of the last session that was started.
        missed_count: how many scheduled times have passed since then without a session.
        error: why the last session could not be started; "" if it could.
        worktree: whether each session works in its own git worktree.
    """

    id: str
    task: str
    folder: str
    model: str
    first_due: int
    due: int | None
    interval: str = ""
    on_missed: MissedPolicy = "run"
    mode: str = DEFAULT_MODE
    script: str = ""
    last_session: str = ""
    missed_count: int = 0
    error: str = ""
    worktree: bool = False


@dataclass(frozen=True, slots=True)
class ScheduleTriggered:
    """The session was started by a schedule instead of the user.

    `due` is the scheduled time in microseconds, and `missed_count` the number of earlier times that passed without a
    session. `late`: Journeyman was not running at the scheduled time.
    """

    schedule_id: str
    due: int
    interval: str = ""
    missed_count: int = 0
    late: bool = False


@dataclass(frozen=True, slots=True)
class DueTimes:
    """The scheduled times up to some moment: the last one, how many there are, and the next one after the moment."""

    last: int
    count: int
    next: int | None


@dataclass(frozen=True, slots=True)
class _Series:
    """The scheduled times of a repeating schedule, numbered from 0."""

    first: int
    interval: Interval

    def time(self, index: int) -> int:
        if not self.interval.follows_local_time:
            return self.first + index * self.interval.microseconds
        local_start = datetime.fromtimestamp(self.first / SECOND)  # noqa: DTZ006 - local time, so that 9:00 stays 9:00
        return round((local_start + index * self.interval.duration).timestamp()) * SECOND

    def last_index(self, moment: int) -> int:
        """Return the index of the last scheduled time that is not after `moment`."""
        # Start one interval early, because a clock change can shift a time by less than that.
        index = max(0, (moment - self.first) // self.interval.microseconds - 1)
        while self.time(index + 1) <= moment:
            index += 1
        return index


def due_times(schedule: Schedule, moment: int) -> DueTimes | None:
    """Return the scheduled times from `schedule.due` up to `moment` (microseconds), or None if there are none."""
    if schedule.due is None or moment < schedule.due:
        return None
    if not schedule.interval:
        return DueTimes(schedule.due, count=1, next=None)
    series = _Series(schedule.first_due, parse_interval(schedule.interval))
    index = series.last_index(moment)
    count = index - series.last_index(schedule.due) + 1
    return DueTimes(last=series.time(index), count=count, next=series.time(index + 1))


def parse_interval(text: str) -> Interval:
    """Parse an interval such as `15m`. Raises a Problem if it is invalid."""
    match = re.fullmatch(r"([0-9]{1,4})([mhdw])", text)
    if match is None or not 1 <= int(match[1]) <= MAX_INTERVAL:
        raise Problem(
            f"{text!r} is not an interval.", "", "Enter it as 15m, 2h, 1d or 1w: minutes, hours, days, weeks."
        )
    return Interval(int(match[1]), next(unit for unit in IntervalUnit if unit.letter == match[2]))


def parse_time(text: str, moment: int) -> int:
    """Parse a local time into microseconds. `18:30` means the next time it is 18:30; a date may precede it.

    Raise a Problem if the text is invalid or the time is not after `moment`.
    """
    reference = datetime.fromtimestamp(moment / SECOND)  # noqa: DTZ006 - users mean local time
    time_text = text.strip().replace("T", " ")
    try:
        if " " in time_text:
            parsed = datetime.strptime(time_text, "%Y-%m-%d %H:%M")  # noqa: DTZ007 - local time
        else:
            parsed = datetime.combine(reference, datetime.strptime(time_text, "%H:%M").time())  # noqa: DTZ007 - as above
            parsed += timedelta(days=parsed <= reference)
        timestamp = round(parsed.timestamp()) * SECOND
    except (ValueError, OverflowError, OSError):
        raise Problem(f"{text!r} is not a time.", "", TIME_HINT) from None
    if timestamp <= moment:
        raise Problem(f"{text} is in the past.", "A session cannot start in the past.", TIME_HINT)
    return timestamp


def describe_schedule(schedule: Schedule) -> str:
    """Return when a schedule starts sessions, for display."""
    if schedule.due is None and schedule.error:
        return "once, failed to start"
    if schedule.due is None:
        return "once, missed" if schedule.missed_count else "once, done"
    at = datetime.fromtimestamp(schedule.due / SECOND).astimezone().strftime("%Y-%m-%d %H:%M")
    return f"{_describe_interval(schedule.interval)}, next {at}" if schedule.interval else f"once, {at}"


def schedule_notice(event: ScheduleTriggered) -> str:
    """Return the timeline text for a session that was started by a schedule."""
    frequency = _describe_interval(event.interval) if event.interval else "once"
    text = f"started by your schedule {event.schedule_id} ({frequency})"
    if event.late:
        text += ", late: Journeyman was not running at the time"
    if event.missed_count:
        text += f"; {event.missed_count} earlier time{'' if event.missed_count == 1 else 's'} missed"
    return text


def _describe_interval(text: str) -> str:
    try:
        return str(parse_interval(text))
    except Problem:  # an imported session may contain any text here
        return f"every {text}"
