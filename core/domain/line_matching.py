"""Estimates whether difflib can match two sequences of lines quickly: it takes cubic time if many lines are equal."""

from collections import Counter
from collections.abc import Sequence

MAX_COMPARISONS = 4_000_000  # comparisons of lines, which take at most about half a second


def is_quickly_matched(old: Sequence[str], new: Sequence[str]) -> bool:
    """Return whether difflib takes less than about half a second for these lines, even in the worst case."""
    counts = Counter(new)
    return sum(counts[line] for line in old) * min(len(old), len(new)) <= MAX_COMPARISONS
