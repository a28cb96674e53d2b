"""Finds words or a pattern in a text, in slices, with patterns that cannot hang; and what replaces them."""

import re
from bisect import bisect_left
from time import perf_counter
from typing import Final, NamedTuple

from PySide6.QtCore import QObject, QRegularExpression, QRegularExpressionMatch, QTimer, Signal
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QPlainTextEdit

MOST: Final = 10_000
SLICE_S: Final = 0.006
PAUSE_MS: Final = 2
WAIT_MS: Final = 150
STEPS: Final = 50_000  # that the matcher may take for one match; measured: at most 2 ms
LINE_LIMIT: Final = 20_000
GROUP: Final = re.compile(r"\\(\\|n|t|\d)|\$(\d)")


class Wish(NamedTuple):
    """What is looked for."""

    words: str = ""
    pattern: bool = False
    case: bool = False
    whole: bool = False

    def compiled(self) -> QRegularExpression:
        text = self.words if self.pattern else QRegularExpression.escape(self.words)
        text = rf"\b(?:{text})\b" if self.whole else text
        options = QRegularExpression.PatternOption
        made = options.UseUnicodePropertiesOption | (
            options.NoPatternOption if self.case else options.CaseInsensitiveOption
        )
        return QRegularExpression(f"(*LIMIT_MATCH={STEPS}){text}", made)


class Hit(NamedTuple):
    """Where it was found: a place in the document and how long it is, and the line with the place in that."""

    at: int
    length: int
    line: int
    column: int


class Search(QObject):
    """`changed` as more is found; `trouble` says what is wrong with the pattern."""

    changed = Signal()

    def __init__(self, field: QPlainTextEdit) -> None:
        super().__init__(field)
        self._field = field
        self._wish, self._made = Wish(), QRegularExpression()
        self.hits: list[Hit] = []
        self.trouble = ""
        self._line, self._on = 0, False
        self._next = QTimer(self, singleShot=True)
        self._next.timeout.connect(self._slice)
        field.document().contentsChanged.connect(self._again)

    @property
    def done(self) -> bool:
        return not self._next.isActive()

    def look_for(self, wish: Wish) -> None:
        self._wish, self._made = wish, wish.compiled()
        self._on = bool(wish.words)
        self._begin()

    def stop(self) -> None:
        self._on = False
        self._next.stop()
        self.hits = []
        self.changed.emit()

    def at(self, place: int) -> int:
        """The first hit at a place or behind it; the number of hits where there is none."""
        return bisect_left(self.hits, (place,))

    def instead(self, hit: Hit, words: str) -> str:
        """What a hit is replaced with: in a pattern, \\1 and $1 stand for its groups."""
        if not self._wish.pattern:
            return words
        match = self._made.match(self._field.document().findBlockByNumber(hit.line).text(), hit.column)
        return GROUP.sub(lambda found: _group(found, match), words)

    def replaced(self, words: str) -> str:
        """The whole text with every hit replaced."""
        lines = self._field.toPlainText().split("\n")
        for hit in reversed(self.hits):
            line = _halves(lines[hit.line])
            made = self.instead(hit, words)
            lines[hit.line] = _whole(line[: 2 * hit.column]) + made + _whole(line[2 * (hit.column + hit.length) :])
        return "\n".join(lines)

    def _again(self) -> None:
        if self._on:
            self._line, self.hits = 0, []
            self._next.start(WAIT_MS)

    def _begin(self) -> None:
        self.hits, self._line, self.trouble = [], 0, ""
        if not self._made.isValid():
            self.trouble, self._on = self._made.errorString(), False
        if self._on:
            self._slice()
        else:
            self._next.stop()
            self.changed.emit()

    def _slice(self) -> None:
        until = perf_counter() + SLICE_S
        block = self._field.document().findBlockByNumber(self._line)
        while block.isValid() and len(self.hits) < MOST and not self.trouble and perf_counter() < until:
            self._look(block.text(), block.position())
            self._line += 1
            block = block.next()
        if block.isValid() and len(self.hits) < MOST and not self.trouble:
            self._next.start(PAUSE_MS)
        self.changed.emit()

    def _look(self, text: str, start: int) -> None:
        column, text = 0, text[:LINE_LIMIT]
        size = len(text) if text.isascii() else len(_halves(text)) // 2
        while column <= size and len(self.hits) < MOST:
            found = self._made.match(text, column)
            if not found.isValid():
                self.trouble = self.tr("The pattern takes too long. Make it simpler.")
                return
            if not found.hasMatch():
                return
            length = found.capturedLength()
            if length:
                self.hits.append(Hit(start + found.capturedStart(), length, self._line, found.capturedStart()))
            column = found.capturedEnd() + (0 if length else 1)


def select(field: QPlainTextEdit, hit: Hit) -> None:
    """Choose what was found, and bring it on screen."""
    cursor = QTextCursor(field.document())
    cursor.setPosition(hit.at)
    cursor.setPosition(hit.at + hit.length, QTextCursor.MoveMode.KeepAnchor)
    field.setTextCursor(cursor)
    field.ensureCursorVisible()


def _group(found: "re.Match[str]", match: QRegularExpressionMatch) -> str:
    sign = found[1] or found[2]
    return {"n": "\n", "t": "\t", "\\": "\\"}.get(sign) or match.captured(int(sign))


def _halves(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass")


def _whole(halves: bytes) -> str:
    return halves.decode("utf-16-le", "surrogatepass")
