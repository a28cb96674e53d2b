"""Matches the lines of two texts where difflib would be slow: it takes cubic time if many lines are equal."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

MAX_COMPARISONS = 4_000_000  # comparisons of lines, which take at most about half a second


class LineMatch(NamedTuple):
    """The indexes of equal lines in the old and in the new text."""

    old: int
    new: int


def is_quickly_matched(old: Sequence[str], new: Sequence[str]) -> bool:
    """Return whether difflib takes less than about half a second for these lines, even in the worst case."""
    counts = Counter(new)
    return sum(counts[line] for line in old) * min(len(old), len(new)) <= MAX_COMPARISONS


def match_unique_lines(old: Sequence[str], new: Sequence[str]) -> list[LineMatch]:
    """Return the matching lines that occur exactly once in each text, in order (patience diff)."""
    old_counts, new_counts = Counter(old), Counter(new)
    new_indexes = {line: index for index, line in enumerate(new)}
    matches = [
        LineMatch(old=index, new=new_indexes[line])
        for index, line in enumerate(old)
        if old_counts[line] == 1 and new_counts[line] == 1
    ]
    return _longest_increasing(matches)


def _longest_increasing(matches: list[LineMatch]) -> list[LineMatch]:
    """Return the longest subsequence of the matches in which the new indexes increase, by patience sorting."""
    top_indexes: list[int] = []  # the new index of the match on top of each pile
    tops: list[int] = []  # the position of that match in `matches`
    previous: list[int | None] = []  # for each match, the position of the match before it in the subsequence
    for position, match in enumerate(matches):
        pile = bisect_left(top_indexes, match.new)
        previous.append(tops[pile - 1] if pile else None)
        if pile == len(tops):
            top_indexes.append(match.new)
            tops.append(position)
        else:
            top_indexes[pile] = match.new
            tops[pile] = position
    chain: list[LineMatch] = []
    last = tops[-1] if tops else None
    while last is not None:
        chain.append(matches[last])
        last = previous[last]
    return chain[::-1]
