"""Sessions that begin at a time: when, how often, and what becomes of a time at which nobody was there."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, get_args

from core.domain.clock import SECOND
from core.domain.modes import DEFAULT_MODE
from core.domain.problems import Problem

Missed = Literal["run", "skip"]
MISSED: tuple[Missed, ...] = get_args(Missed)
STEPS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
NAMES = {"m": "minute", "h": "hour", "d": "day", "w": "week"}
MOST = 1000
GRACE = 120 * SECOND  # later than that is missed
WHEN = "Say it as 18:30, or as 2030-01-31 18:30."


@dataclass(frozen=True, slots=True)
class Schedule:
    """A session to be begun. Times are in microseconds; days and weeks go by the clock on the wall.

    Attributes:
        every: `15m`, `2h`, `1d`, `1w`; empty for once.
        first: the first time, `due` the next one, 0 when there is none.
        missed: what to do when Journeyman was not there at the time: run once, or skip it.
        script: what a scripted model plays.
        session: the one that was begun last, `skipped` how many times passed without one since.
        trouble: why the last one could not be begun.
        worktree: each works in a git worktree of its own.
    """

    id: str
    task: str
    folder: str
    model: str
    first: int
    due: int
    every: str = ""
    missed: Missed = "run"
    mode: str = DEFAULT_MODE
    script: str = ""
    session: str = ""
    skipped: int = 0
    trouble: str = ""
    worktree: bool = False


@dataclass(frozen=True, slots=True)
class Scheduled:
    """Nobody began this session by hand: a schedule did. `missed` times had passed unused before `due`, since the last.

    `late`: Journeyman was not there at the time itself.
    """

    schedule: str
    due: int
    every: str = ""
    missed: int = 0
    late: bool = False


@dataclass(frozen=True, slots=True)
class Now:
    """What of a schedule has come by a moment: its last time, how many were there, and the next one, 0 for none."""

    last: int
    count: int
    following: int


def come(schedule: Schedule, moment: int) -> Now | None:
    """What is due by the moment; None where nothing is."""
    if not schedule.due or moment < schedule.due:
        return None
    if not schedule.every:
        return Now(schedule.due, 1, 0)
    place = _places(schedule, moment)
    return Now(_time(schedule, place), place - _places(schedule, schedule.due) + 1, _time(schedule, place + 1))


def _places(schedule: Schedule, moment: int) -> int:
    """How many steps lie between the first time and the last one that is not after the moment."""
    number, step = read_every(schedule.every)
    length = number * step // timedelta(microseconds=1)
    place = max(0, (moment - schedule.first) // length - 1)  # a change of the clock moves it by less than a step
    while _time(schedule, place + 1) <= moment:
        place += 1
    return place


def _time(schedule: Schedule, place: int) -> int:
    """The time so many steps after the first."""
    number, step = read_every(schedule.every)
    if step < STEPS["d"]:
        return schedule.first + place * (number * step // timedelta(microseconds=1))
    wall = datetime.fromtimestamp(schedule.first / SECOND)  # noqa: DTZ006 - nine o'clock stays nine o'clock
    return round((wall + place * number * step).timestamp()) * SECOND


def read_every(text: str) -> tuple[int, timedelta]:
    """`15m` as a number and what it counts."""
    found = re.fullmatch(r"([0-9]{1,4})([mhdw])", text)
    if found is None or not 1 <= int(found[1]) <= MOST:
        raise Problem(f"{text!r} is no interval.", "", "Say it as 15m, 2h, 1d or 1w: minutes, hours, days, weeks.")
    return int(found[1]), STEPS[found[2]]


def read_when(text: str, moment: int) -> int:
    """`18:30` is today or tomorrow, whichever comes; else a day stands before it."""
    here = datetime.fromtimestamp(moment / SECOND)  # noqa: DTZ006 - a person means their own clock
    words = text.strip().replace("T", " ")
    try:
        if " " in words:
            found = datetime.strptime(words, "%Y-%m-%d %H:%M")  # noqa: DTZ007 - the clock on the wall
        else:
            found = datetime.combine(here, datetime.strptime(words, "%H:%M").time())  # noqa: DTZ007 - as above
            found += timedelta(days=found <= here)
        at = round(found.timestamp()) * SECOND
    except (ValueError, OverflowError, OSError):
        raise Problem(f"{text!r} is no time.", "", WHEN) from None
    if at <= moment:
        raise Problem(f"{text} is over.", "A session cannot begin in the past.", WHEN)
    return at


def words_of(schedule: Schedule) -> str:
    """When it begins, as a person reads it."""
    if not schedule.due:
        return "once, done" if not schedule.trouble else "once, not begun"
    at = datetime.fromtimestamp(schedule.due / SECOND).astimezone().strftime("%Y-%m-%d %H:%M")
    return f"{_often(schedule.every)}, next {at}" if schedule.every else f"once, {at}"


def notice_of(begun: Scheduled) -> str:
    """The row of such a beginning."""
    said = f"begun by your schedule {begun.schedule} ({_often(begun.every) if begun.every else 'once'})"
    if begun.late:
        said += ", late: Journeyman was not there at the time"
    if begun.missed:
        said += f"; {begun.missed} earlier time{'' if begun.missed == 1 else 's'} passed unused"
    return said


def _often(every: str) -> str:
    number, name = every[:-1], NAMES.get(every[-1:])
    if not name:
        return f"every {every}"
    return f"every {name}" if number == "1" else f"every {number} {name}s"
