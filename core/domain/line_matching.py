"""Estimates how long difflib takes to match two sequences of lines: cubic time if the same lines occur often."""

from collections import Counter
from collections.abc import Sequence

MAX_COMPARISONS = 4_000_000  # at most about half a second


def is_quickly_matched(old: Sequence[str], new: Sequence[str]) -> bool:
    """Return whether difflib matches these lines in a short time, whatever they are."""
    counts = Counter(new)
    return sum(counts[line] for line in old) * min(len(old), len(new)) <= MAX_COMPARISONS
