"""Marks of a memory besides its sentence: tags, an expiry date and the user's rating, stored among its fields."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Literal

from core.domain.clock import SECOND
from core.domain.memory import MARKS, MemoryContent
from core.domain.problems import Problem

UserRating = Literal["good", "bad", ""]
TAGS, EXPIRES, USER_RATING = MARKS
MAX_TAGS = 12
MAX_TAG_CHARS = 40
_DAYS = re.compile(r"(\d{1,4})\s*d")


def marks_of(content: MemoryContent) -> dict[str, str]:
    """Return the marks of a memory by name, without empty ones."""
    return {name: content.fields[name] for name in MARKS if content.fields.get(name)}


def without_marks(fields: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in fields.items() if name not in MARKS}


def with_marks(content: MemoryContent, marks: Mapping[str, str]) -> MemoryContent:
    """Return the content with these marks set. An empty mark is removed, and marks that are not given stay."""
    fields = dict(content.fields) | dict(marks)
    return replace(content, fields={name: text for name, text in fields.items() if text or name not in MARKS})


def tags_of(content: MemoryContent) -> tuple[str, ...]:
    return tuple(tag for tag in content.fields.get(TAGS, "").split(", ") if tag)


def join_tags(tags: Iterable[str]) -> str:
    """Return tags in their stored form: lowercase, sorted and unique. Raise Problem for too many or too long ones."""
    names = sorted({" ".join(tag.replace(",", " ").lower().split()).lstrip("#") for tag in tags} - {""})
    if len(names) > MAX_TAGS or any(len(name) > MAX_TAG_CHARS for name in names):
        cause = f"A memory can have {MAX_TAGS} tags of {MAX_TAG_CHARS} characters."
        raise Problem("These tags cannot be saved.", cause, "Use fewer or shorter ones.")
    return ", ".join(names)


def parse_expiry(text: str, at: int) -> str:
    """Return an ISO date from a date or a number of days such as `30d`; "" for "" and `never`.

    `at` is the present in microseconds. Raise Problem for any other text and for a date that is not in the future.
    """
    words = text.strip().lower()
    if words in ("", "never"):
        return ""
    today = datetime.fromtimestamp(at / SECOND, UTC).date()
    try:
        days = _DAYS.fullmatch(words)
        expires = today + timedelta(days=int(days[1])) if days else date.fromisoformat(words)
    except (ValueError, OverflowError):
        fix = "Give a date such as 2027-01-31, a number of days such as 30d, or never."
        raise Problem(f"{text!r} is not a date.", "", fix) from None
    if expires <= today:
        raise Problem(f"{expires.isoformat()} is not in the future.", "", "Forget the memory instead.")
    return expires.isoformat()


def is_expired(content: MemoryContent, at: int) -> bool:
    """Return whether a memory has expired at a time in microseconds; it expires at the start of its date in UTC."""
    expires = content.fields.get(EXPIRES, "")
    return bool(expires) and expires <= datetime.fromtimestamp(at / SECOND, UTC).date().isoformat()


def user_rating_of(content: MemoryContent) -> UserRating:
    match content.fields.get(USER_RATING, ""):
        case "good":
            return "good"
        case "bad":
            return "bad"
        case _:
            return ""
