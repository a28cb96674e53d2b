"""Syntax colors and changed words for the lines of a permission request, as in the Changes tab."""

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from core.timeline.word_diff import Range, changed_ranges, pair_lines
from ui.text.code_tokens import SyntaxSpan
from ui.text.line_grammar import LineState, initial_state, line_spans, next_state

MAX_LINES: Final = 2_000  # lines; a longer text is shown without colors
PLAIN: Final = LineState("code", language="plain")


class SignedLine(Protocol):
    """A line with its sign: `+`, `-`, a space, or `@` for a heading that names a file."""

    @property
    def text(self) -> str: ...

    @property
    def sign(self) -> str: ...


class LineColors(NamedTuple):
    """The ranges of a line that have a syntax color, and those that have changed."""

    spans: Sequence[SyntaxSpan] = ()
    changed: Sequence[Range] = ()


def line_colors(lines: Sequence[SignedLine]) -> list[LineColors]:
    """Return the colors of each line; an empty list if there are too many lines or if they are not a diff."""
    if len(lines) > MAX_LINES or not any(line.sign in {"+", "-"} for line in lines):
        return []
    changed = _changed_words(lines)
    colors: list[LineColors] = []
    old_state = new_state = PLAIN
    for index, line in enumerate(lines):
        if line.sign == "@":
            path = line.text.rpartition(", ")[0] or line.text  # without, for example, the line number after it
            old_state = new_state = initial_state(path)
            colors.append(LineColors())
            continue
        state = old_state if line.sign == "-" else new_state
        spans = line_spans(line.text, state) if line.sign else ()
        colors.append(LineColors(spans, changed.get(index, ())))
        if line.sign in {"-", " "}:
            old_state = next_state(line.text, old_state)
        if line.sign in {"+", " "}:
            new_state = next_state(line.text, new_state)
    return colors


def _changed_words(lines: Sequence[SignedLine]) -> dict[int, list[Range]]:
    """Return the changed ranges of removed lines and of the added lines that replace them, by the index of the line."""
    changed: dict[int, list[Range]] = {}
    index = 0
    while index < len(lines):
        removed_end = _end_of_run(lines, index, "-")
        added_end = _end_of_run(lines, removed_end, "+")
        if index < removed_end < added_end:
            removed_texts = [line.text for line in lines[index:removed_end]]
            added_texts = [line.text for line in lines[removed_end:added_end]]
            for old_offset, new_offset in pair_lines(removed_texts, added_texts):
                old = index + old_offset
                new = removed_end + new_offset
                changed[old], changed[new] = changed_ranges(lines[old].text, lines[new].text)
        index = max(added_end, index + 1)
    return changed


def _end_of_run(lines: Sequence[SignedLine], start: int, sign: str) -> int:
    """Return the end of the range of lines with the same `sign` that begins at `start`."""
    end = start
    while end < len(lines) and lines[end].sign == sign:
        end += 1
    return end
