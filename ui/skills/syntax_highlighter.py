"""The syntax highlighter: visible lines are highlighted at once, the states of all later lines updated in slices."""

from time import perf_counter
from typing import Final, NamedTuple

from PySide6.QtCore import QObject, QTimer
from PySide6.QtGui import QTextBlock, QTextCharFormat, QTextLayout
from PySide6.QtWidgets import QPlainTextEdit

from ui.style.theme import Look
from ui.text.code_tokens import SyntaxSpan
from ui.text.line_grammar import MAX_LINE, LineState, initial_state, line_spans, next_state
from ui.text.syntax_formats import syntax_formats, utf16_range

KEY_PRESS_BUDGET_S: Final = 0.002  # seconds spent during a key press; a timer processes the remaining lines
SLICE_S: Final = 0.005
PAUSE_MS: Final = 4
LINES_PER_CLOCK_CHECK: Final = 32
# Limit of distinct parser states, because the stored state of a line holds two indexes of 15 bits.
MAX_STATES: Final = 1 << 15
HIGHLIGHTED: Final = 1


class _Progress(NamedTuple):
    """How far the states of lines have been computed.

    `line` is the next line. If `is_current`, its stored state was already correct, so that later lines need no update.
    """

    line: int
    is_current: bool


def _pack(start: int, end: int) -> int:
    """Return the stored state of a line that is not highlighted yet, from the indexes of two parser states.

    It is an integer, because `QTextBlock.userState` is one; a negative one means that nothing is stored. The lowest bit
    is HIGHLIGHTED if the line is highlighted.
    """
    return start << 16 | end << 1


def _start_of(stored: int) -> int:
    return stored >> 16


def _end_of(stored: int) -> int:
    return stored >> 1 & MAX_STATES - 1


class SyntaxHighlighter(QObject):
    """Highlights a document, and stores in each block the parser states at the start and end of its line.

    Lines before `_valid_end` have their final states. The states of the lines from there to `_stored_end` may be
    outdated until the timer reaches them. Later lines have at most the provisional state used to highlight them.
    """

    def __init__(self, field: QPlainTextEdit, look: Look) -> None:
        super().__init__(field)
        self._field = field
        self._initial_state = initial_state("SKILL.md")
        self._indexes: dict[LineState, int] = {}
        self._states: list[LineState] = []
        self._valid_end = 0
        self._stored_end = 0
        self._line_count = 1
        self._slice_timer = QTimer(self, singleShot=True, interval=PAUSE_MS)
        self._slice_timer.timeout.connect(self._process_slice)
        self._formats = syntax_formats(look)
        field.document().contentsChange.connect(self._on_contents_change)
        field.document().contentsChanged.connect(self.highlight_visible)

    @property
    def done(self) -> bool:
        """Whether all lines have their final states."""
        return self._valid_end >= self._line_count

    def restart(self, name: str) -> None:
        """Start again for another file; its name determines the language."""
        self._initial_state = initial_state(name)
        self._discard_states()

    def finish_now(self) -> None:
        """Process all remaining lines at once, for benchmarks."""
        while not self.done:
            self._process_slice()

    def restyle(self, look: Look) -> None:
        self._formats = syntax_formats(look)
        self._discard_states()
        self.highlight_visible()

    def highlight_visible(self) -> None:
        """Highlight the visible lines that are not highlighted yet."""
        field = self._field
        block, bottom = field.firstVisibleBlock(), field.viewport().height()
        top = field.blockBoundingGeometry(block).translated(field.contentOffset()).top()
        while block.isValid() and top < bottom:
            stored = block.userState()
            if stored < 0 or not stored & HIGHLIGHTED:
                self._highlight(block)
            top += field.blockBoundingRect(block).height()
            block = block.next()

    def state_before(self, block: QTextBlock) -> LineState:
        """Return the parser state at the start of a line.

        The state of ordinary text if it has not been computed yet.
        """
        before = block.previous()
        if not before.isValid():
            return self._initial_state
        stored = before.userState()
        return self._states[_end_of(stored)] if stored >= 0 else LineState("body")

    def _discard_states(self) -> None:
        block = self._field.document().firstBlock()
        while block.isValid() and block.userState() >= 0:
            block.setUserState(-1)
            block = block.next()
        self._valid_end = 0
        self._stored_end = 0
        self._line_count = self._field.document().blockCount()
        self._slice_timer.start()

    def _on_contents_change(self, position: int, _removed: int, added: int) -> None:
        document = self._field.document()
        first, last = document.findBlock(position), document.findBlock(position + added)
        added_lines = document.blockCount() - self._line_count
        self._line_count = document.blockCount()
        for block in (first, last):
            block.setUserState(-1)
        first_line = first.blockNumber()
        last_line = last.blockNumber() if last.isValid() else self._line_count - 1
        if first_line < self._stored_end:
            self._stored_end = max(first_line, self._stored_end + added_lines)
            self._update_changed_lines(first, last_line, added_lines)
        self._valid_end = min(self._valid_end, self._line_count)
        if not self.done:
            self._slice_timer.start()

    def _update_changed_lines(self, first: QTextBlock, last_line: int, added_lines: int) -> None:
        """Update the states of the changed lines, and of later lines as far as the time limit allows."""
        first_line, shifted_end = first.blockNumber(), self._valid_end + added_lines
        reached = self._compute_states(first, last_line, perf_counter() + KEY_PRESS_BUDGET_S)
        if first_line > self._valid_end:  # lines above have not been processed by the timer yet
            if not reached.is_current:
                self._stored_end = min(self._stored_end, reached.line)
        elif reached.is_current:
            self._valid_end = shifted_end if reached.line < shifted_end else self._stored_end
        else:
            self._valid_end = reached.line
            self._stored_end = min(self._stored_end, max(reached.line, shifted_end))

    def _process_slice(self) -> None:
        block = self._field.document().findBlockByNumber(self._valid_end)
        reached = self._compute_states(block, self._valid_end, perf_counter() + SLICE_S)
        self._valid_end = self._stored_end if reached.is_current else reached.line
        self.highlight_visible()
        if not self.done:
            self._slice_timer.start()

    def _compute_states(self, block: QTextBlock, min_line: int, until: float) -> _Progress:
        """Compute the parser states of the lines from `block` on, at least up to line `min_line`.

        Stop at the first later line whose stored state is correct, or when the time `until` is reached.
        """
        line = block.blockNumber()
        start = self._index_of(self.state_before(block))
        while block.isValid():
            stored = block.userState()
            if min_line < line < self._stored_end and stored >= 0 and _start_of(stored) == start:
                return _Progress(line, is_current=True)
            end = self._index_of(next_state(block.text(), self._states[start]))
            block.setUserState(_pack(start, end))
            block = block.next()
            start = end
            line += 1
            if line % LINES_PER_CLOCK_CHECK == 0 and perf_counter() > until:
                break
        self._stored_end = max(self._stored_end, line)
        return _Progress(line, is_current=False)

    def _index_of(self, state: LineState) -> int:
        """Return the index of a parser state in `_states`, adding the state if it is new."""
        if state not in self._indexes:
            self._indexes[state] = len(self._states)
            self._states.append(state)
        return self._indexes[state]

    def _highlight(self, block: QTextBlock) -> None:
        start = self.state_before(block)
        text = block.text()
        ranges = []
        for span in line_spans(text[:MAX_LINE], start):
            if char_format := self._format(span):
                part = QTextLayout.FormatRange()
                # Qt counts UTF-16 code units, of which a character outside the Basic Multilingual Plane has two.
                part.start, part.length = utf16_range(text, span)
                part.format = char_format
                ranges.append(part)
        stored = block.userState()
        if stored < 0:
            stored = _pack(self._index_of(start), self._index_of(next_state(text, start)))
        block.setUserState(stored | HIGHLIGHTED)
        if ranges or block.layout().formats():
            block.layout().setFormats(ranges)
            self._field.document().markContentsDirty(block.position(), block.length())

    def _format(self, span: SyntaxSpan) -> QTextCharFormat | None:
        return self._formats.get(span.kind)
