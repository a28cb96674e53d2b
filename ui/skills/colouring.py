"""Colours the lines on screen as they are seen; what a change means further down is worked out in slices."""

from time import perf_counter
from typing import Final

from PySide6.QtCore import QObject, QTimer
from PySide6.QtGui import QFont, QTextBlock, QTextCharFormat, QTextLayout
from PySide6.QtWidgets import QPlainTextEdit

from ui.skills.code import Span
from ui.skills.grammar import LONGEST, State, after, beginning, spans
from ui.theme import Look

AT_ONCE_S: Final = 0.002  # of a key press; the rest waits
SLICE_S: Final = 0.005
PAUSE_MS: Final = 4
STATES: Final = 1 << 15
TOKENS: Final = {
    "quiet": "third",
    "key": "accent",
    "value": "second",
    "heading": "thinking",
    "mark": "accent",
    "code": "command",
    "link": "accent",
    "string": "done",
    "number": "command",
    "variable": "network",
    "word": "thinking",
}


class Colouring(QObject):
    """Each line keeps the states it begins and ends with; lines from `known` on may have wrong ones until then.

    A line's number holds three things: the state it begins with, the one it ends with, and whether it is coloured.
    """

    def __init__(self, field: QPlainTextEdit, look: Look) -> None:
        super().__init__(field)
        self._field = field
        self._first = beginning("SKILL.md")
        self._numbers: dict[State, int] = {}
        self._states: list[State] = []
        self._known, self._sound, self._count = 0, 0, 1
        self._more = QTimer(self, singleShot=True, interval=PAUSE_MS)
        self._more.timeout.connect(self._slice)
        self._formats = _formats(look)
        field.document().contentsChange.connect(self._change)
        field.document().contentsChanged.connect(self.colour)

    @property
    def done(self) -> bool:
        return self._known >= self._count

    def begin(self, name: str) -> None:
        """Another file: its name says what it is."""
        self._first = beginning(name)
        self._forget()

    def finish(self) -> None:
        """The rest at once: for measurements."""
        while not self.done:
            self._slice()

    def restyle(self, look: Look) -> None:
        self._formats = _formats(look)
        self._forget()
        self.colour()

    def colour(self) -> None:
        """The lines that are seen and not coloured yet."""
        field = self._field
        block, bottom = field.firstVisibleBlock(), field.viewport().height()
        top = field.blockBoundingGeometry(block).translated(field.contentOffset()).top()
        while block.isValid() and top < bottom:
            held = block.userState()
            if held < 0 or not held & 1:
                self._colour(block)
            top += field.blockBoundingRect(block).height()
            block = block.next()

    def state_of(self, block: QTextBlock) -> State:
        """The state that a line begins with, as far as it is known."""
        before = block.previous()
        if not before.isValid():
            return self._first
        held = before.userState()
        return self._states[held >> 1 & STATES - 1] if held >= 0 else State("body")

    def _forget(self) -> None:
        block = self._field.document().firstBlock()
        while block.isValid() and block.userState() >= 0:
            block.setUserState(-1)
            block = block.next()
        self._known = self._sound = 0
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
        """The states of lines that were changed, and of those below as far as there is time."""
        begins, waits = first.blockNumber(), self._known + grown
        reached, met = self._walk(first, ends, perf_counter() + AT_ONCE_S)
        if begins > self._known:  # lines above are still to be done: their turn comes first
            self._sound = self._sound if met else min(self._sound, reached)
        elif met:
            self._known = waits if reached < waits else self._sound
        else:
            self._known = reached
            self._sound = min(self._sound, max(reached, waits))

    def _slice(self) -> None:
        block = self._field.document().findBlockByNumber(self._known)
        reached, met = self._walk(block, self._known, perf_counter() + SLICE_S)
        self._known = self._sound if met else reached
        self.colour()
        if not self.done:
            self._more.start()

    def _walk(self, block: QTextBlock, least: int, until: float) -> tuple[int, bool]:
        """States from a line on, at least to `least`; how far it came, and whether it met one that is right already."""
        number = block.blockNumber()
        entry = self._number(self.state_of(block))
        while block.isValid():
            held = block.userState()
            if least < number < self._sound and held >= 0 and held >> 16 == entry:
                return number, True
            end = self._number(after(block.text(), self._states[entry]))
            block.setUserState(entry << 16 | end << 1)
            block, entry, number = block.next(), end, number + 1
            if not number % 32 and perf_counter() > until:
                break
        self._sound = max(self._sound, number)
        return number, False

    def _number(self, state: State) -> int:
        if state not in self._numbers:
            self._numbers[state] = len(self._states)
            self._states.append(state)
        return self._numbers[state]

    def _colour(self, block: QTextBlock) -> None:
        entry = self.state_of(block)
        text = block.text()
        ranges = []
        for span in spans(text[:LONGEST], entry):
            if made := self._format(span):
                part = QTextLayout.FormatRange()
                # Qt counts in halves of a pair where a sign lies beyond the first plane.
                part.start, part.length = _units(text, span)
                part.format = made
                ranges.append(part)
        held = block.userState()
        if held >= 0:
            block.setUserState(held | 1)
        else:
            number = self._number(entry)
            block.setUserState(number << 16 | self._number(after(text, entry)) << 1 | 1)
        if ranges or block.layout().formats():
            block.layout().setFormats(ranges)
            self._field.document().markContentsDirty(block.position(), block.length())

    def _format(self, span: Span) -> QTextCharFormat | None:
        return self._formats.get(span.kind)


def _units(text: str, span: Span) -> tuple[int, int]:
    if text.isascii():
        return span.start, span.length
    before = len(text[: span.start].encode("utf-16-le")) // 2
    return before, len(text[span.start : span.start + span.length].encode("utf-16-le")) // 2


def _formats(look: Look) -> dict[str, QTextCharFormat]:
    made: dict[str, QTextCharFormat] = {}
    for kind, token in TOKENS.items():
        made[kind] = QTextCharFormat()
        made[kind].setForeground(look.theme.colour(token))
    made["heading"].setFontWeight(QFont.Weight.Bold)
    made["strong"] = QTextCharFormat()
    made["strong"].setFontWeight(QFont.Weight.Bold)
    made["em"] = QTextCharFormat()
    made["em"].setFontItalic(True)
    return made
