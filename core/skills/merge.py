"""Three-way merge of texts, line by line."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from core.domain.line_matching import is_quickly_matched, match_unique_lines
from core.domain.skill import MergeHunk


class _Anchor(NamedTuple):
    """The indexes of a line that all three texts share."""

    base: int
    yours: int
    theirs: int


def diff_three_ways(base: str, yours: str, theirs: str) -> tuple[MergeHunk, ...]:
    """Compare two changed versions of a base text. Return all parts of the texts in order, equal and changed ones."""
    base_lines, your_lines, their_lines = (text.splitlines(keepends=True) for text in (base, yours, theirs))
    anchors = _anchors(base_lines, your_lines, their_lines)
    hunks: list[MergeHunk] = []
    start = _Anchor(0, 0, 0)
    for anchor in anchors:
        hunks += _hunks_between(base_lines, your_lines, their_lines, start, anchor)
        line = (base_lines[anchor.base],)
        hunks.append(MergeHunk("same", line, line, line))
        start = _Anchor(anchor.base + 1, anchor.yours + 1, anchor.theirs + 1)
    end = _Anchor(len(base_lines), len(your_lines), len(their_lines))
    hunks += _hunks_between(base_lines, your_lines, their_lines, start, end)
    return tuple(_merge_adjacent(hunks))


def _hunks_between(
    base: list[str], yours: list[str], theirs: list[str], start: _Anchor, end: _Anchor
) -> list[MergeHunk]:
    """Return the part of the texts from `start` to before `end`, if it has any lines."""
    base_part = tuple(base[start.base : end.base])
    your_part = tuple(yours[start.yours : end.yours])
    their_part = tuple(theirs[start.theirs : end.theirs])
    return [_hunk(base_part, your_part, their_part)] if base_part or your_part or their_part else []


def merge_parts(parts: Sequence[MergeHunk]) -> str | None:
    """Return the text with the changes of both versions, or None if they conflict."""
    if any(part.kind == "clash" for part in parts):
        return None
    return "".join("".join(part.theirs if part.kind == "theirs" else part.yours) for part in parts)


def _anchors(base: list[str], yours: list[str], theirs: list[str]) -> list[_Anchor]:
    """Return the lines that all three texts share, in order."""
    in_yours = dict(_matching_lines(base, yours))
    in_theirs = dict(_matching_lines(base, theirs))
    return [
        _Anchor(index, in_yours[index], in_theirs[index])
        for index in range(len(base))
        if index in in_yours and index in in_theirs
    ]


def _matching_lines(old: list[str], new: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the indexes of equal lines in two texts, in order."""
    prefix = _common_prefix(old, new)
    suffix = _common_prefix(old[prefix:][::-1], new[prefix:][::-1])
    yield from ((index, index) for index in range(prefix))
    old_middle = old[prefix : len(old) - suffix]
    new_middle = new[prefix : len(new) - suffix]
    if is_quickly_matched(old_middle, new_middle):
        for block in SequenceMatcher(None, old_middle, new_middle, autojunk=False).get_matching_blocks():
            yield from ((prefix + block.a + offset, prefix + block.b + offset) for offset in range(block.size))
    else:
        matches = match_unique_lines(old_middle, new_middle)
        yield from ((prefix + match.old, prefix + match.new) for match in matches)
    yield from ((len(old) - offset, len(new) - offset) for offset in range(suffix, 0, -1))


def _common_prefix(old: list[str], new: list[str]) -> int:
    """Return the number of lines at the beginning that are equal in both texts."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((index for index, (old_line, new_line) in pairs if old_line != new_line), min(len(old), len(new)))


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
