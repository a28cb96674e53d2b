"""Finds which words differ between the old and the new form of a line, so that a diff can emphasize them."""

import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

MAX_LINE = 500  # in characters; a longer line is not compared word by word
MAX_CELLS = 400  # pairs of lines compared to find out which added line replaces which removed line
MAX_PAIRS = 20_000  # pairs of equal words in two lines; with more, comparing the lines would take seconds
MIN_SIMILARITY = 0.4  # lines that have a smaller share of words in common are shown as replaced as a whole
WORD = re.compile(r"\w+|\s+|[^\w\s]")


class Range(NamedTuple):
    """A part of a line, in characters. The character at `end` is not included."""

    start: int
    end: int


def pair_lines(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return the indexes (in old, in new) of lines that replace each other, in order.

    If there are as many old as new lines, they are paired one by one. Otherwise similar lines are paired, or none if
    there are too many.
    """
    if len(old) == len(new):
        return [(index, index) for index in range(len(old))]
    if len(old) * len(new) > MAX_CELLS:
        return []
    old_words = [Counter(WORD.findall(line[:MAX_LINE])) for line in old]
    new_words = [Counter(WORD.findall(line[:MAX_LINE])) for line in new]
    # Best[i][j] is the score of the best pairing of the lines from i and j on.
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    scores = [[_similarity(a, b) for b in new_words] for a in old_words]
    for i in range(len(old) - 1, -1, -1):
        for j in range(len(new) - 1, -1, -1):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], best[i + 1][j + 1] + scores[i][j])
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < len(old) and j < len(new):
        if scores[i][j] and best[i][j] == best[i + 1][j + 1] + scores[i][j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def changed_ranges(old: str, new: str) -> tuple[list[Range], list[Range]]:
    """Return the ranges in which each of two lines differs from the other; none if they have too little in common."""
    if max(len(old), len(new)) > MAX_LINE or not old.strip() or not new.strip():
        return [], []
    old_words, new_words = WORD.findall(old), WORD.findall(new)
    old_counts, new_counts = Counter(old_words), Counter(new_words)
    if _similarity(old_counts, new_counts) < MIN_SIMILARITY:
        return [], []
    equal_pairs = sum(count * new_counts[word] for word, count in old_counts.items())
    if equal_pairs > MAX_PAIRS:
        return [], []
    old_ranges: list[Range] = []
    new_ranges: list[Range] = []
    old_starts, new_starts = _starts(old_words), _starts(new_words)
    matcher = SequenceMatcher(None, old_words, new_words, autojunk=False)
    for tag, old_first, old_end, new_first, new_end in matcher.get_opcodes():
        if tag != "equal":
            _add(old_ranges, old_starts[old_first], old_starts[old_end])
            _add(new_ranges, new_starts[new_first], new_starts[new_end])
    return old_ranges, new_ranges


def _similarity(old: Counter[str], new: Counter[str]) -> float:
    """Return the share of words that two lines have in common, from 0 to 1. Spaces do not count."""
    common = sum(count for word, count in (old & new).items() if not word.isspace())
    total = sum(count for side in (old, new) for word, count in side.items() if not word.isspace())
    return 2 * common / total if total else 0.0


def _starts(words: Sequence[str]) -> list[int]:
    """Return the position of each word in its line, and the end of the last one."""
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    return starts


def _add(ranges: list[Range], start: int, end: int) -> None:
    """Append a range, or extend the last range if the new one follows it directly."""
    if start == end:
        return
    if ranges and ranges[-1].end == start:
        start = ranges.pop().start
    ranges.append(Range(start, end))
