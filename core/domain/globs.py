"""Path patterns with `*`, `?`, `[…]` and `**`, matched in a time that no pattern can blow up."""

import fnmatch
import re
from collections.abc import Sequence
from functools import lru_cache

LONGEST = 1_000


@lru_cache(maxsize=4096)
def _segment(pattern: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(pattern))  # its stars are atomic: no backtracking


def matches(pattern: Sequence[str], path: Sequence[str]) -> bool:
    """Do the parts of a path fit the parts of a pattern? `**` stands for any number of parts."""
    at = place = 0
    star = kept = -1
    while place < len(path):
        if at < len(pattern) and pattern[at] == "**":
            star, kept = at, place
            at += 1
        elif at < len(pattern) and _segment(pattern[at]).match(path[place]):
            at += 1
            place += 1
        elif star >= 0:
            kept += 1
            at, place = star + 1, kept
        else:
            return False
    return all(part == "**" for part in pattern[at:])


def parts_of(pattern: str) -> tuple[str, ...]:
    """A pattern without a slash means a name in any folder."""
    parts = tuple(part for part in pattern.split("/") if part not in ("", "."))
    return ("**", *parts) if "/" not in pattern.rstrip("/") else parts
