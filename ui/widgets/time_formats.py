"""Short formats of times, dates and ages for rows of lists."""

from datetime import UTC, date, datetime, timedelta

from PySide6.QtCore import QCoreApplication, QLocale

from core.domain.clock import SECOND

MINUTE = 60
HOUR = 60 * MINUTE
DAY = 24 * HOUR


def to_local_time(at: int) -> datetime:
    """Convert microseconds since the epoch to local time."""
    return datetime.fromtimestamp(at / SECOND, tz=UTC).astimezone()


def start_of_day(when: datetime) -> int:
    """Return the start of the local day in microseconds since the epoch."""
    start = when.replace(tzinfo=None, hour=0, minute=0, second=0, microsecond=0).astimezone()
    return int(start.timestamp()) * SECOND


def short_age(at: int, now: int) -> str:
    """Return an age such as `2m`, `3h` or `5d`. Both times are in microseconds since the epoch."""
    seconds = max(0, (now - at) // SECOND)
    if seconds < MINUTE:
        return _tr("now")
    if seconds < HOUR:
        return _tr("{}m").format(seconds // MINUTE)
    if seconds < DAY:
        return _tr("{}h").format(seconds // HOUR)
    return _tr("{}d").format(seconds // DAY)


def age_text(at: int, now: int) -> str:
    """Return an age in words, such as `2 min ago`. Both times are in microseconds since the epoch."""
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
    """Return the time of day of a moment in the last seven days, otherwise its date. Both times are microseconds."""
    when, today = to_local_time(at), to_local_time(now).date()
    if today - when.date() < timedelta(days=7):
        return f"{when:%H:%M}"
    return short_date(at)


def short_date(at: int) -> str:
    """Return the day and the month of a time in microseconds since the epoch."""
    when, locale = to_local_time(at), QLocale()
    return _tr("{day} {month}").format(
        day=when.day, month=locale.standaloneMonthName(when.month, QLocale.FormatType.ShortFormat)
    )


def day_heading(day: date, today: date) -> str:
    """Return the heading for the sessions of a day: the name of the day within the last week, otherwise the month."""
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
