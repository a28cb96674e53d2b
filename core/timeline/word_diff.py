"""Finds which words of a changed line differ, so that a diff can emphasize them."""

import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher

MAX_LINE = 500  # characters; longer lines are not compared word by word
MAX_CELLS = 400  # pairs of lines compared to find out which line replaces which
MAX_PAIRS = 20_000  # equal words of two lines, counted for each pair of places
SIMILAR = 0.4  # lines with a smaller share of common words count as replaced as a whole
WORD = re.compile(r"\w+|\s+|[^\w\s]")

Range = tuple[int, int]
"""Start and end of a part of a line, in characters."""


def pair_lines(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return the indexes of removed and added lines that replace each other, in order.

    Blocks of the same length are paired line by line; in others, similar lines are found unless the block is large.
    """
    if len(old) == len(new):
        return [(index, index) for index in range(len(old))]
    if len(old) * len(new) > MAX_CELLS:
        return []
    old_words, new_words = ([Counter(WORD.findall(line[:MAX_LINE])) for line in side] for side in (old, new))
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]  # best[i][j]: the best pairing from lines i and j on
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
    """Return the parts in which two lines differ; empty lists if they have too little in common."""
    if max(len(old), len(new)) > MAX_LINE or not old.strip() or not new.strip():
        return [], []
    old_words, new_words = WORD.findall(old), WORD.findall(new)
    old_counts, new_counts = Counter(old_words), Counter(new_words)
    if _similarity(old_counts, new_counts) < SIMILAR:
        return [], []
    if sum(count * new_counts[word] for word, count in old_counts.items()) > MAX_PAIRS:  # comparing them takes seconds
        return [], []
    old_ranges: list[Range] = []
    new_ranges: list[Range] = []
    old_starts, new_starts = _starts(old_words), _starts(new_words)
    for tag, a, a_end, b, b_end in SequenceMatcher(None, old_words, new_words, autojunk=False).get_opcodes():
        if tag != "equal":
            _add(old_ranges, old_starts[a], old_starts[a_end])
            _add(new_ranges, new_starts[b], new_starts[b_end])
    return old_ranges, new_ranges


def _similarity(old: Counter[str], new: Counter[str]) -> float:
    """Return the share of words that two lines have in common, from 0 to 1; spaces do not count."""
    common = sum((old & new)[word] for word in old & new if not word.isspace())
    total = sum(count for side in (old, new) for word, count in side.items() if not word.isspace())
    return 2 * common / total if total else 0.0


def _starts(words: Sequence[str]) -> list[int]:
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    return starts


def _add(ranges: list[Range], start: int, end: int) -> None:
    """Append a part, merged with the one before if it follows directly."""
    if start == end:
        return
    if ranges and ranges[-1][1] == start:
        start = ranges.pop()[0]
    ranges.append((start, end))
