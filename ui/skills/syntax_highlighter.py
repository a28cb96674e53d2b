"""The syntax highlighter: visible lines are highlighted at once, the states of all later lines updated in slices."""

from time import perf_counter
from typing import Final

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
STATES: Final = 1 << 15  # limit of distinct parser states, because `userState` of a block holds two indexes of 15 bits


class SyntaxHighlighter(QObject):
    """Highlights a document, and stores in each block the parser states at the start and end of its line.

    `QTextBlock.userState` contains both states as indexes, and in its lowest bit whether the line is highlighted.
    States from line `_known` on may be outdated until the timer has reached them.
    """

    def __init__(self, field: QPlainTextEdit, look: Look) -> None:
        super().__init__(field)
        self._field = field
        self._first = initial_state("SKILL.md")
        self._numbers: dict[LineState, int] = {}
        self._states: list[LineState] = []
        self._known = 0
        self._sound = 0
        self._count = 1
        self._more = QTimer(self, singleShot=True, interval=PAUSE_MS)
        self._more.timeout.connect(self._slice)
        self._formats = syntax_formats(look)
        field.document().contentsChange.connect(self._change)
        field.document().contentsChanged.connect(self.highlight_visible)

    @property
    def done(self) -> bool:
        return self._known >= self._count

    def restart(self, name: str) -> None:
        """Start again for another file; its name determines the language."""
        self._first = initial_state(name)
        self._forget()

    def finish_now(self) -> None:
        """Process all remaining lines at once, for benchmarks."""
        while not self.done:
            self._slice()

    def restyle(self, look: Look) -> None:
        self._formats = syntax_formats(look)
        self._forget()
        self.highlight_visible()

    def highlight_visible(self) -> None:
        """Highlight the visible lines that are not highlighted yet."""
        field = self._field
        block, bottom = field.firstVisibleBlock(), field.viewport().height()
        top = field.blockBoundingGeometry(block).translated(field.contentOffset()).top()
        while block.isValid() and top < bottom:
            stored = block.userState()
            if stored < 0 or not stored & 1:
                self._color(block)
            top += field.blockBoundingRect(block).height()
            block = block.next()

    def state_before(self, block: QTextBlock) -> LineState:
        """Return the parser state at the start of a line.

        The state of ordinary text if it has not been computed yet.
        """
        before = block.previous()
        if not before.isValid():
            return self._first
        stored = before.userState()
        return self._states[stored >> 1 & STATES - 1] if stored >= 0 else LineState("body")

    def _forget(self) -> None:
        block = self._field.document().firstBlock()
        while block.isValid() and block.userState() >= 0:
            block.setUserState(-1)
            block = block.next()
        self._known = 0
        self._sound = 0
        self._count = self._field.document().blockCount()
        self._more.start()

    def _change(self, at: int, _removed: int, added: int) -> None:
        document = self._field.document()
        first, last = document.findBlock(at), document.findBlock(at + added)
        grown, self._count = document.blockCount() - self._count, document.blockCount()
        for edge in (first, last):
            edge.setUserState(-1)
        begins, ends = first.blockNumber(), last.blockNumber() if last.isValid() else self._count - 1
        if begins < self._sound:
            self._sound = max(begins, self._sound + grown)
            self._settle(first, ends, grown)
        self._known = min(self._known, self._count)
        if not self.done:
            self._more.start()

    def _settle(self, first: QTextBlock, ends: int, grown: int) -> None:
        """Update the states of the changed lines, and of later lines as far as the time limit allows."""
        begins, waits = first.blockNumber(), self._known + grown
        reached, converged = self._walk(first, ends, perf_counter() + KEY_PRESS_BUDGET_S)
        if begins > self._known:  # lines above have not been processed by the timer yet
            self._sound = self._sound if converged else min(self._sound, reached)
        elif converged:
            self._known = waits if reached < waits else self._sound
        else:
            self._known = reached
            self._sound = min(self._sound, max(reached, waits))

    def _slice(self) -> None:
        block = self._field.document().findBlockByNumber(self._known)
        reached, converged = self._walk(block, self._known, perf_counter() + SLICE_S)
        self._known = self._sound if converged else reached
        self.highlight_visible()
        if not self.done:
            self._more.start()

    def _walk(self, block: QTextBlock, min_line: int, until: float) -> tuple[int, bool]:
        """Compute the parser states of the lines from `block` on, at least up to line `min_line`.

        Stop when the time `until` is reached. Return the next line, and whether its stored state was already correct,
        so that later lines need no update.
        """
        number = block.blockNumber()
        entry = self._number(self.state_before(block))
        while block.isValid():
            stored = block.userState()
            if min_line < number < self._sound and stored >= 0 and stored >> 16 == entry:
                return number, True
            end = self._number(next_state(block.text(), self._states[entry]))
            block.setUserState(entry << 16 | end << 1)
            block, entry, number = block.next(), end, number + 1
            if not number % 32 and perf_counter() > until:
                break
        self._sound = max(self._sound, number)
        return number, False

    def _number(self, state: LineState) -> int:
        if state not in self._numbers:
            self._numbers[state] = len(self._states)
            self._states.append(state)
        return self._numbers[state]

    def _color(self, block: QTextBlock) -> None:
        entry = self.state_before(block)
        text = block.text()
        ranges = []
        for span in line_spans(text[:MAX_LINE], entry):
            if char_format := self._format(span):
                part = QTextLayout.FormatRange()
                # Qt counts UTF-16 code units, of which a character outside the Basic Multilingual Plane has two.
                part.start, part.length = utf16_range(text, span)
                part.format = char_format
                ranges.append(part)
        stored = block.userState()
        if stored >= 0:
            block.setUserState(stored | 1)
        else:
            number = self._number(entry)
            block.setUserState(number << 16 | self._number(next_state(text, entry)) << 1 | 1)
        if ranges or block.layout().formats():
            block.layout().setFormats(ranges)
            self._field.document().markContentsDirty(block.position(), block.length())

    def _format(self, span: SyntaxSpan) -> QTextCharFormat | None:
        return self._formats.get(span.kind)
