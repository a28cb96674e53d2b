"""The text of diff lines as it is painted, with syntax colors and with the changed words emphasized."""

from collections.abc import Mapping
from typing import Final

from PySide6.QtCore import QPointF
from PySide6.QtGui import QTextCharFormat, QTextLayout, QTextOption

from core.timeline.text_diff import DiffBlock, DiffRow, TextDiff
from core.timeline.word_diff import Range, changed_ranges, pair_lines
from ui.style.theme import Look, blend
from ui.text.code_tokens import SyntaxSpan
from ui.text.line_grammar import LineState, initial_state, line_spans, next_state
from ui.text.syntax_formats import syntax_formats, utf16_range
from ui.text.visible import visible

LINE_LIMIT: Final = 2_000  # characters; the rest of a longer line is not painted
TAB: Final = 4  # columns between tab stops
MAX_LAYOUTS: Final = 600  # number of lines whose layout is cached
MAX_STATES: Final = 20_000  # lines; a later line is colored as if no multi-line string or comment were open before it
EMPHASIS: Final = 0.34  # opacity of the color behind the changed words of an added or removed line


class LineTexts:
    """Lays out the lines of a diff when they are painted, and caches the latest layouts."""

    def __init__(self, look: Look) -> None:
        self.restyle(look)
        self.set_diff(TextDiff((), (), ()), "")

    def set_diff(self, difference: TextDiff, file_name: str) -> None:
        """Set the diff to paint. Without a file name, its lines get no syntax colors."""
        self._difference = difference
        first = initial_state(file_name) if file_name else None
        self._sides = {"old": _SyntaxStates(difference.old, first), "new": _SyntaxStates(difference.new, first)}
        self._blocks: dict[DiffBlock, Mapping[tuple[str, int], int]] = {}
        self._words: dict[tuple[str, int], list[Range]] = {}
        self._layouts: dict[tuple[str, int], QTextLayout] = {}
        self._block_starts = {number: block for block in difference.blocks for number in _block_lines(block)}

    def restyle(self, look: Look) -> None:
        self._look = look
        self._formats = syntax_formats(look)
        self._layouts = {}
        theme = look.theme
        self._emphasis = {}
        for sign, color in (("-", theme.failed), ("+", theme.done)):
            self._emphasis[sign] = QTextCharFormat()
            self._emphasis[sign].setBackground(blend(color, theme.background, EMPHASIS))
            # Because syntax colors would be hard to read on this background.
            self._emphasis[sign].setForeground(theme.text)

    def layout(self, row: DiffRow) -> QTextLayout:
        """Return the layout of a line, which is never wrapped."""
        key = ("old", row.old) if row.sign == "-" else ("new", row.new)
        layout = self._layouts.get(key)
        if layout is None:
            if len(self._layouts) >= MAX_LAYOUTS:
                del self._layouts[next(iter(self._layouts))]
            layout = self._layouts[key] = self._make(row, *key)
        return layout

    def changed_words(self, row: DiffRow) -> list[Range]:
        """Return the ranges in which an added or removed line differs from its counterpart, if it has one."""
        if row.sign not in {"-", "+"}:
            return []
        key = ("old", row.old) if row.sign == "-" else ("new", row.new)
        if key not in self._words:
            self._compare(*key)
        return self._words[key]

    def _compare(self, side: str, number: int) -> None:
        """Compare a line with its counterpart in the same block, if it has one, and cache the result for both."""
        self._words[side, number] = []
        partner = self._partners(side, number).get((side, number))
        if partner is None:
            return
        old, new = (number, partner) if side == "old" else (partner, number)
        ranges = changed_ranges(shown_text(self._difference.old[old - 1]), shown_text(self._difference.new[new - 1]))
        self._words["old", old], self._words["new", new] = ranges

    def _partners(self, side: str, number: int) -> Mapping[tuple[str, int], int]:
        block = self._block_starts.get((side, number))
        if block is None:
            return {}
        if block not in self._blocks:
            old = [shown_text(line) for line in self._difference.old[block.old : block.old_end]]
            new = [shown_text(line) for line in self._difference.new[block.new : block.new_end]]
            partners: dict[tuple[str, int], int] = {}
            for a, b in pair_lines(old, new):
                partners["old", block.old + a + 1] = block.new + b + 1
                partners["new", block.new + b + 1] = block.old + a + 1
            self._blocks[block] = partners
        return self._blocks[block]

    def _make(self, row: DiffRow, side: str, number: int) -> QTextLayout:
        text = shown_text(row.text)
        layout = QTextLayout(text, self._look.fonts.mono)
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.NoWrap)
        layout.setTextOption(option)
        spans = [
            (span, char_format)
            for span in self._sides[side].spans(number, text)
            if (char_format := self._formats.get(span.kind))
        ]
        spans += [
            (SyntaxSpan(start, end - start, "changed"), self._emphasis[row.sign])
            for start, end in self.changed_words(row)
        ]
        ranges = []
        for span, char_format in spans:
            part = QTextLayout.FormatRange()
            part.start, part.length = utf16_range(text, span)
            part.format = char_format
            ranges.append(part)
        layout.setFormats(ranges)
        layout.beginLayout()
        line = layout.createLine()
        line.setLineWidth(1 << 20)
        line.setPosition(QPointF(0, 0))
        layout.endLayout()
        return layout


class _SyntaxStates:
    """The parser states at the starts of the lines of a text, computed only as far as lines are shown."""

    def __init__(self, lines: tuple[str, ...], first: LineState | None) -> None:
        self._lines = lines
        self._states = [first] if first else []

    def spans(self, number: int, text: str) -> list[SyntaxSpan]:
        """Return the syntax spans of the line with this number; `text` is the line as it is shown."""
        if not self._states:
            return []
        states = self._states
        while len(states) < min(number, MAX_STATES):
            states.append(next_state(self._lines[len(states) - 1].rstrip("\r\n"), states[-1]))
        return line_spans(text, states[number - 1] if number <= len(states) else states[0])


def shown_text(line: str) -> str:
    """Return a line as it is painted: shortened, with visible control characters and expanded tabs."""
    return visible(line.rstrip("\r\n")[:LINE_LIMIT]).expandtabs(TAB)


def _block_lines(block: DiffBlock) -> list[tuple[str, int]]:
    """Return the lines of a block that replaces some lines by others; an empty list for any other block."""
    if block.old == block.old_end or block.new == block.new_end:
        return []
    old = [("old", number + 1) for number in range(block.old, block.old_end)]
    return old + [("new", number + 1) for number in range(block.new, block.new_end)]
