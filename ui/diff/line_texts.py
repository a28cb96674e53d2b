"""The text of diff lines as it is painted, with syntax colors and with the changed words emphasized."""

from collections.abc import Mapping
from typing import Final, NamedTuple

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


class DiffLine(NamedTuple):
    """A line of one of the two texts. `side` is `old` or `new`; `number` counts from 1."""

    side: str
    number: int


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
        self._counterparts: dict[DiffBlock, Mapping[DiffLine, DiffLine]] = {}
        self._words: dict[DiffLine, list[Range]] = {}
        self._layouts: dict[DiffLine, QTextLayout] = {}
        self._block_of = {line: block for block in difference.blocks for line in _block_lines(block)}

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
        line = _line_of(row)
        layout = self._layouts.get(line)
        if layout is None:
            if len(self._layouts) >= MAX_LAYOUTS:
                del self._layouts[next(iter(self._layouts))]
            layout = self._layouts[line] = self._create_layout(row, line)
        return layout

    def changed_words(self, row: DiffRow) -> list[Range]:
        """Return the ranges in which an added or removed line differs from its counterpart, if it has one."""
        if row.sign not in {"-", "+"}:
            return []
        line = _line_of(row)
        if line not in self._words:
            self._compare(line)
        return self._words[line]

    def _compare(self, line: DiffLine) -> None:
        """Compare a line with its counterpart in the same block, if it has one, and cache the result for both."""
        self._words[line] = []
        counterpart = self._counterpart(line)
        if counterpart is None:
            return
        old, new = (line, counterpart) if line.side == "old" else (counterpart, line)
        old_text = shown_text(self._difference.old[old.number - 1])
        new_text = shown_text(self._difference.new[new.number - 1])
        self._words[old], self._words[new] = changed_ranges(old_text, new_text)

    def _counterpart(self, line: DiffLine) -> DiffLine | None:
        """Return the line of the other text that replaces a line or that it replaces."""
        block = self._block_of.get(line)
        if block is None:
            return None
        if block not in self._counterparts:
            self._counterparts[block] = self._pair_lines(block)
        return self._counterparts[block].get(line)

    def _pair_lines(self, block: DiffBlock) -> Mapping[DiffLine, DiffLine]:
        old_texts = [shown_text(text) for text in self._difference.old[block.old : block.old_end]]
        new_texts = [shown_text(text) for text in self._difference.new[block.new : block.new_end]]
        counterparts: dict[DiffLine, DiffLine] = {}
        for old_index, new_index in pair_lines(old_texts, new_texts):
            old = DiffLine("old", block.old + old_index + 1)
            new = DiffLine("new", block.new + new_index + 1)
            counterparts |= {old: new, new: old}
        return counterparts

    def _create_layout(self, row: DiffRow, line: DiffLine) -> QTextLayout:
        text = shown_text(row.text)
        layout = QTextLayout(text, self._look.fonts.mono)
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.NoWrap)
        layout.setTextOption(option)
        ranges = [
            _format_range(text, span, self._formats[span.kind])
            for span in self._sides[line.side].spans(line.number, text)
            if span.kind in self._formats
        ]
        for start, end in self.changed_words(row):
            span = SyntaxSpan(start, end - start, "changed")
            ranges.append(_format_range(text, span, self._emphasis[row.sign]))
        layout.setFormats(ranges)
        layout.beginLayout()
        text_line = layout.createLine()
        text_line.setLineWidth(1 << 20)
        text_line.setPosition(QPointF(0, 0))
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
            previous_line = self._lines[len(states) - 1]
            states.append(next_state(previous_line.rstrip("\r\n"), states[-1]))
        return line_spans(text, states[number - 1] if number <= len(states) else states[0])


def shown_text(line: str) -> str:
    """Return a line as it is painted: shortened, with visible control characters and expanded tabs."""
    return visible(line.rstrip("\r\n")[:LINE_LIMIT]).expandtabs(TAB)


def _line_of(row: DiffRow) -> DiffLine:
    return DiffLine("old", row.old) if row.sign == "-" else DiffLine("new", row.new)


def _format_range(text: str, span: SyntaxSpan, char_format: QTextCharFormat) -> QTextLayout.FormatRange:
    part = QTextLayout.FormatRange()
    part.start, part.length = utf16_range(text, span)
    part.format = char_format
    return part


def _block_lines(block: DiffBlock) -> list[DiffLine]:
    """Return the lines of a block that replaces some lines by others; an empty list for any other block."""
    if block.old == block.old_end or block.new == block.new_end:
        return []
    old_lines = [DiffLine("old", number + 1) for number in range(block.old, block.old_end)]
    new_lines = [DiffLine("new", number + 1) for number in range(block.new, block.new_end)]
    return old_lines + new_lines
