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
    old = new = PLAIN
    for index, line in enumerate(lines):
        if line.sign == "@":
            old = new = initial_state(line.text.rpartition(", ")[0] or line.text)
            colors.append(LineColors())
            continue
        state = old if line.sign == "-" else new
        colors.append(LineColors(line_spans(line.text, state) if line.sign else (), changed.get(index, ())))
        if line.sign in {"-", " "}:
            old = next_state(line.text, old)
        if line.sign in {"+", " "}:
            new = next_state(line.text, new)
    return colors


def _changed_words(lines: Sequence[SignedLine]) -> dict[int, list[Range]]:
    """Return the changed ranges of removed lines and of the added lines that replace them, by the index of the line."""
    changed: dict[int, list[Range]] = {}
    index = 0
    while index < len(lines):
        removed = _end_of_run(lines, index, "-")
        added = _end_of_run(lines, removed, "+")
        pairs = pair_lines([line.text for line in lines[index:removed]], [line.text for line in lines[removed:added]])
        for old_offset, new_offset in pairs if index < removed < added else ():
            old, new = index + old_offset, removed + new_offset
            changed[old], changed[new] = changed_ranges(lines[old].text, lines[new].text)
        index = max(added, index + 1)
    return changed


def _end_of_run(lines: Sequence[SignedLine], start: int, sign: str) -> int:
    """Return the end of the range of lines with the same `sign` that begins at `start`."""
    end = start
    while end < len(lines) and lines[end].sign == sign:
        end += 1
    return end
