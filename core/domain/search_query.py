"""The search text for sessions: words, and filters written as `key:value`, such as `folder:work` or `date:week`."""

import calendar
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from types import MappingProxyType
from typing import Final, NamedTuple

from core.domain.clock import SECOND
from core.domain.sessions import SessionRow
from core.domain.steps import VERBS

STATUSES: Final = ("waiting", "running", "paused", "interrupted", "done", "failed", "stopped", "limit")
STATUS_NAMES: Final = MappingProxyType({**{name: name for name in STATUSES}, "completed": "done"})
PERIODS: Final = MappingProxyType({"today": 1, "week": 7, "month": 30, "year": 365})  # number of days, including today
KIND_GROUPS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {"message": ("user",), "change": ("write", "edit"), "web": ("fetch", "search_web"), "agent": ("delegate",)}
)
_UNFINISHED = re.compile(r'(?<!\S)(?:folder|model|status|date|after|before|kind):"?$')
_TOKEN = re.compile(r'(?<!\S)([a-z]+):("[^"]*"|\S+)')


class SearchFilter(NamedTuple):
    """A filter of a search text. `text` is the filter as the user wrote it."""

    key: str
    value: str
    text: str


class DateRange(NamedTuple):
    """The first and the last day of a range."""

    first: date
    last: date


class SessionQuery(NamedTuple):
    """A parsed search text. Filters with the same key are alternatives; filters with different keys must all match."""

    words: str = ""
    filters: tuple[SearchFilter, ...] = ()

    def values(self, key: str) -> list[str]:
        return [item.value for item in self.filters if item.key == key]

    @property
    def step_kinds(self) -> frozenset[str]:
        """The kinds of steps to search; empty for all."""
        return frozenset(kind for name in self.values("kind") for kind in KIND_GROUPS.get(name, (name,)))


def parse_query(text: str) -> SessionQuery:
    """Split a search text into words and filters. A filter with an unknown key or value counts as words.

    A filter at the end whose value has not been typed yet is ignored.
    """
    filters: list[SearchFilter] = []

    def take(match: re.Match[str]) -> str:
        key, value = match[1], match[2].strip('"').strip()
        if not value or not _is_valid(key, value):
            return match[0]
        filters.append(SearchFilter(key, value, match[0]))
        return " "

    words = _UNFINISHED.sub("", _TOKEN.sub(take, text).rstrip())
    return SessionQuery(" ".join(words.split()), tuple(filters))


def add_filter(text: str, key: str, value: str) -> str:
    """Return the search text with a filter added, unless it already contains an equal one."""
    written = f'{key}:"{value}"' if re.search(r"\s", value) else f"{key}:{value}"
    if any((item.key, item.value) == (key, value) for item in parse_query(text).filters):
        return text
    return f"{text.rstrip()} {written}".lstrip()


def remove_filter(text: str, removed: SearchFilter) -> str:
    """Return the search text without every occurrence of a filter."""
    pattern = re.compile(rf"(?<!\S){re.escape(removed.text)}(?!\S)\s*")
    return pattern.sub("", text).rstrip()


def matches_filters(query: SessionQuery, row: SessionRow, today: date) -> bool:
    """Return whether a session matches all filters except `kind`, which applies to its steps."""
    return (
        _any(query.values("folder"), lambda value: value.casefold() in row.folder.casefold())
        and _any(query.values("model"), lambda value: value.casefold() in row.model.casefold())
        and _any(query.values("status"), lambda value: STATUS_NAMES[value.casefold()] == row.status)
        and _any(query.values("date"), lambda value: _was_active(row, _range(value, today)))
        and all(_day(row.updated_at) >= _range(value, today).first for value in query.values("after"))
        and all(_day(row.created_at) < _range(value, today).first for value in query.values("before"))
    )


def _any(values: list[str], matches: Callable[[str], bool]) -> bool:
    """Return whether one of the values matches, or there are none."""
    return not values or any(map(matches, values))


def _is_valid(key: str, value: str) -> bool:
    match key:
        case "folder" | "model":
            return True
        case "status":
            return value.casefold() in STATUS_NAMES
        case "kind":
            return value in VERBS or value in KIND_GROUPS
        case "date" | "after" | "before":
            return value in PERIODS or _parse_range(value) is not None
        case _:
            return False


def _range(value: str, today: date) -> DateRange:
    """Return the days that a valid date value covers, such as `week`, `2026-11` or `2026-11-25`."""
    if days := PERIODS.get(value):
        return DateRange(today - timedelta(days=days - 1), today)
    parsed = _parse_range(value)
    assert parsed is not None
    return parsed


def _parse_range(value: str) -> DateRange | None:
    """Return the days that `2026-11-25` or `2026-11` covers; None for any other text."""
    match = re.fullmatch(r"(?P<year>\d{4})-(?P<month>\d\d)(?:-(?P<day>\d\d))?", value)
    if match is None:
        return None
    try:
        first = date(int(match["year"]), int(match["month"]), int(match["day"] or 1))
    except ValueError:
        return None
    if match["day"]:
        return DateRange(first, first)
    _, days_in_month = calendar.monthrange(first.year, first.month)
    return DateRange(first, first.replace(day=days_in_month))


def _was_active(row: SessionRow, days: DateRange) -> bool:
    return _day(row.created_at) <= days.last and _day(row.updated_at) >= days.first


def _day(microseconds: int) -> date:
    return datetime.fromtimestamp(microseconds / SECOND).astimezone().date()
