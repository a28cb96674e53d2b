"""Matches the lines of two texts where difflib would be slow: it takes cubic time if many lines are equal."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

MAX_COMPARISONS = 4_000_000  # comparisons of lines, which take at most about half a second


def is_quickly_matched(old: Sequence[str], new: Sequence[str]) -> bool:
    """Return whether difflib takes less than about half a second for these lines, even in the worst case."""
    counts = Counter(new)
    return sum(counts[line] for line in old) * min(len(old), len(new)) <= MAX_COMPARISONS


def match_unique_lines(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return the indexes of matching lines that occur exactly once in each text, in order (patience diff)."""
    old_counts, new_counts = Counter(old), Counter(new)
    new_indexes = {line: index for index, line in enumerate(new)}
    pairs = [
        (index, new_indexes[line]) for index, line in enumerate(old) if old_counts[line] == 1 and new_counts[line] == 1
    ]
    return _longest_increasing(pairs)


def _longest_increasing(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest subsequence of the pairs in which the second numbers increase, by patience sorting."""
    tops: list[int] = []  # the second number of the pair on top of each pile
    top_pairs: list[int] = []  # the index of that pair
    previous: list[int | None] = []  # for each pair, the index of the pair before it in the subsequence
    for pair_index, (_, number) in enumerate(pairs):
        pile = bisect_left(tops, number)
        previous.append(top_pairs[pile - 1] if pile else None)
        if pile == len(tops):
            tops.append(number)
            top_pairs.append(pair_index)
        else:
            tops[pile] = number
            top_pairs[pile] = pair_index
    chain: list[tuple[int, int]] = []
    last = top_pairs[-1] if top_pairs else None
    while last is not None:
        chain.append(pairs[last])
        last = previous[last]
    return chain[::-1]
