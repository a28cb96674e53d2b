"""Path patterns with `*`, `?`, `[…]` and `**`, matched in polynomial time for every pattern."""

import fnmatch
import re
from collections.abc import Sequence
from functools import lru_cache

MAX_LENGTH = 1_000


@lru_cache(maxsize=4096)
def _segment(pattern: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(pattern))  # fnmatch translates stars to atomic groups, so nothing backtracks


def matches(pattern: Sequence[str], path: Sequence[str]) -> bool:
    """Return whether the components of a path match those of a pattern. `**` matches any number of components."""
    pattern_at = path_at = 0
    star = star_path_at = -1  # the last `**`, and the first component after those that it matches so far
    while path_at < len(path):
        if pattern_at < len(pattern) and pattern[pattern_at] == "**":
            star, star_path_at = pattern_at, path_at
            pattern_at += 1
        elif pattern_at < len(pattern) and _segment(pattern[pattern_at]).match(path[path_at]):
            pattern_at += 1
            path_at += 1
        elif star >= 0:
            star_path_at += 1
            pattern_at, path_at = star + 1, star_path_at
        else:
            return False
    return all(part == "**" for part in pattern[pattern_at:])


def pattern_parts(pattern: str) -> tuple[str, ...]:
    """Split a pattern into components for `matches`. A pattern without a slash matches a name in any folder."""
    parts = tuple(part for part in pattern.split("/") if part not in ("", "."))
    return ("**", *parts) if "/" not in pattern.rstrip("/") else parts
