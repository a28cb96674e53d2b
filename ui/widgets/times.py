"""Moments and spans in the few words a row has room for."""

from datetime import UTC, date, datetime, timedelta

from PySide6.QtCore import QCoreApplication, QLocale

from core.domain.clock import SECOND

MINUTE = 60
HOUR = 60 * MINUTE
DAY = 24 * HOUR


def moment(at: int) -> datetime:
    """Microseconds since 1970 as a local time."""
    return datetime.fromtimestamp(at / SECOND, tz=UTC).astimezone()


def midnight_of(when: datetime) -> int:
    """The first microsecond of this local day."""
    start = when.replace(tzinfo=None, hour=0, minute=0, second=0, microsecond=0).astimezone()
    return int(start.timestamp()) * SECOND


def short_age(at: int, now: int) -> str:
    """`2m`, `3h`, `5d`: how long something has waited."""
    seconds = max(0, (now - at) // SECOND)
    if seconds < MINUTE:
        return _tr("now")
    if seconds < HOUR:
        return _tr("{}m").format(seconds // MINUTE)
    if seconds < DAY:
        return _tr("{}h").format(seconds // HOUR)
    return _tr("{}d").format(seconds // DAY)


def age(at: int, now: int) -> str:
    """`2 min ago`: the same in words."""
    seconds = max(0, (now - at) // SECOND)
    if seconds < MINUTE:
        return _tr("just now")
    if seconds < HOUR:
        return _tr("{} min ago").format(seconds // MINUTE)
    if seconds < DAY:
        hours = seconds // HOUR
        return _tr("1 hour ago") if hours == 1 else _tr("{} hours ago").format(hours)
    days = seconds // DAY
    return _tr("1 day ago") if days == 1 else _tr("{} days ago").format(days)


def short_time(at: int, now: int) -> str:
    """The time of day within the last week, else the date: a day's heading tells the rest."""
    when, today = moment(at), moment(now).date()
    if today - when.date() < timedelta(days=7):
        return f"{when:%H:%M}"
    locale = QLocale()
    return _tr("{day} {month}").format(
        day=when.day, month=locale.standaloneMonthName(when.month, QLocale.FormatType.ShortFormat)
    )


def day_name(day: date, today: date) -> str:
    """The heading a day is listed under: nearer days by name, farther ones by month."""
    days = (today - day).days
    if days <= 0:
        return _tr("Today")
    if days == 1:
        return _tr("Yesterday")
    locale = QLocale()
    if days < 7:
        return locale.standaloneDayName(day.isoweekday())
    return f"{locale.standaloneMonthName(day.month)} {day.year}"


def _tr(text: str) -> str:
    return QCoreApplication.translate("times", text)
