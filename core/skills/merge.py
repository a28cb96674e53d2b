"""Three-way merge of texts, line by line."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from core.domain.line_matching import is_quickly_matched
from core.domain.skill import MergeHunk


def diff_three_ways(base: str, yours: str, theirs: str) -> tuple[MergeHunk, ...]:
    """Compare two changed versions of a base text. Return all parts of the texts in order, equal and changed ones."""
    base_lines, your_lines, their_lines = (text.splitlines(keepends=True) for text in (base, yours, theirs))
    anchors = _anchors(base_lines, your_lines, their_lines)
    hunks: list[MergeHunk] = []
    start = (0, 0, 0)
    for anchor in [*anchors, (len(base_lines), len(your_lines), len(their_lines))]:
        parts = tuple(
            tuple(lines[a:b]) for lines, a, b in zip((base_lines, your_lines, their_lines), start, anchor, strict=True)
        )
        if any(parts):
            hunks.append(_hunk(*parts))
        if anchor[0] < len(base_lines):
            line = (base_lines[anchor[0]],)
            hunks.append(MergeHunk("same", line, line, line))
        start = (anchor[0] + 1, anchor[1] + 1, anchor[2] + 1)
    return tuple(_merge_adjacent(hunks))


def merge_parts(parts: Sequence[MergeHunk]) -> str | None:
    """Return the text with the changes of both versions, or None if they conflict."""
    if any(part.kind == "clash" for part in parts):
        return None
    return "".join("".join(part.theirs if part.kind == "theirs" else part.yours) for part in parts)


def _anchors(old: list[str], yours: list[str], theirs: list[str]) -> list[tuple[int, int, int]]:
    """Return the indexes (in old, in yours, in theirs) of the lines that all three texts share, in order."""
    in_yours, in_theirs = dict(_matching_lines(old, yours)), dict(_matching_lines(old, theirs))
    return [(n, in_yours[n], in_theirs[n]) for n in range(len(old)) if n in in_yours and n in in_theirs]


def _matching_lines(old: list[str], new: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the indexes of equal lines in two texts, in order."""
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    yield from ((n, n) for n in range(start))
    inner, other = old[start : len(old) - end], new[start : len(new) - end]
    if is_quickly_matched(inner, other):
        for block in SequenceMatcher(None, inner, other, autojunk=False).get_matching_blocks():
            yield from ((start + block.a + n, start + block.b + n) for n in range(block.size))
    else:
        yield from ((start + a, start + b) for a, b in _match_unique_lines(inner, other))
    yield from ((len(old) - end + n, len(new) - end + n) for n in range(end))


def _match_unique_lines(old: list[str], new: list[str]) -> list[tuple[int, int]]:
    """Return the indexes of matching lines that occur exactly once in each text, in order (patience diff)."""
    positions: dict[str, int] = {}
    for n, line in enumerate(new):
        positions[line] = -1 if line in positions else n
    counts: dict[str, int] = {}
    for line in old:
        counts[line] = counts.get(line, 0) + 1
    pairs = [(n, positions[line]) for n, line in enumerate(old) if counts[line] == 1 and positions.get(line, -1) >= 0]
    tails: list[int] = []
    piles: list[int] = []
    before: list[int] = []
    for number, (_, position) in enumerate(pairs):
        pile = bisect_left(tails, position)
        before.append(piles[pile - 1] if pile else -1)
        tails[pile:] = [position, *tails[pile + 1 :]]
        piles[pile:] = [number, *piles[pile + 1 :]]
    chain: list[tuple[int, int]] = []
    at = piles[-1] if piles else -1
    while at >= 0:
        chain.append(pairs[at])
        at = before[at]
    return chain[::-1]


def _common(old: list[str], new: list[str]) -> int:
    return next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))


def _hunk(base: tuple[str, ...], yours: tuple[str, ...], theirs: tuple[str, ...]) -> MergeHunk:
    if yours == theirs:
        return MergeHunk("same" if yours == base else "both", base, yours, theirs)
    if yours == base:
        return MergeHunk("theirs", base, yours, theirs)
    return MergeHunk("yours" if theirs == base else "clash", base, yours, theirs)


def _merge_adjacent(parts: list[MergeHunk]) -> Iterator[MergeHunk]:
    """Join adjacent parts of the same kind."""
    previous: MergeHunk | None = None
    for part in parts:
        if previous and previous.kind == part.kind:
            previous = MergeHunk(
                previous.kind, previous.base + part.base, previous.yours + part.yours, previous.theirs + part.theirs
            )
            continue
        if previous:
            yield previous
        previous = part
    if previous:
        yield previous
