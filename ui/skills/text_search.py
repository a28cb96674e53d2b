"""Searches an editor for text or regular expressions, in slices that do not block the window, and replaces matches."""

import re
from bisect import bisect_left
from time import perf_counter
from typing import Final, NamedTuple

from PySide6.QtCore import QObject, QRegularExpression, QRegularExpressionMatch, QTimer, Signal
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QPlainTextEdit

MAX_MATCHES: Final = 10_000
SLICE_S: Final = 0.006
PAUSE_MS: Final = 2
WAIT_MS: Final = 150
# Steps of the regular expression engine (PCRE's LIMIT_MATCH) per match attempt; as measured, 2 ms at most.
MATCH_LIMIT: Final = 50_000
LINE_LIMIT: Final = 20_000
GROUP_REFERENCE: Final = re.compile(r"\\(\\|n|t|\d)|\$(\d)")


class TextQuery(NamedTuple):
    """What to search for: a plain text, or a regular expression if `is_regex` is set."""

    text: str = ""
    is_regex: bool = False
    match_case: bool = False
    whole_words: bool = False

    def compiled(self) -> QRegularExpression:
        text = self.text if self.is_regex else QRegularExpression.escape(self.text)
        text = rf"\b(?:{text})\b" if self.whole_words else text
        options = QRegularExpression.PatternOption
        flags = options.UseUnicodePropertiesOption | (
            options.NoPatternOption if self.match_case else options.CaseInsensitiveOption
        )
        return QRegularExpression(f"(*LIMIT_MATCH={MATCH_LIMIT}){text}", flags)


class TextMatch(NamedTuple):
    """A match: its position and length in the document, its line and its column.

    All of them count UTF-16 code units.
    """

    position: int
    length: int
    line: int
    column: int


class TextSearch(QObject):
    """A search that runs in the background.

    `changed` is emitted when it finds more; `error` says why a pattern is invalid.
    """

    changed = Signal()

    def __init__(self, field: QPlainTextEdit) -> None:
        super().__init__(field)
        self._field = field
        self._query = TextQuery()
        self._regex = QRegularExpression()
        self.matches: list[TextMatch] = []
        self.error = ""
        self._line = 0
        self._active = False
        self._next = QTimer(self, singleShot=True)
        self._next.timeout.connect(self._slice)
        field.document().contentsChanged.connect(self._restart_later)

    @property
    def done(self) -> bool:
        return not self._next.isActive()

    def start(self, query: TextQuery) -> None:
        self._query, self._regex = query, query.compiled()
        self._active = bool(query.text)
        self._restart()

    def stop(self) -> None:
        self._active = False
        self._next.stop()
        self.matches = []
        self.changed.emit()

    def index_at(self, position: int) -> int:
        """Return the index of the first match at or after a position; the number of matches if there is none."""
        return bisect_left(self.matches, (position,))

    def replacement(self, match: TextMatch, template: str) -> str:
        """Return the text that replaces a match.

        For a regular expression, \1 and $1 in the template stand for groups.
        """
        if not self._query.is_regex:
            return template
        groups = self._regex.match(self._field.document().findBlockByNumber(match.line).text(), match.column)
        return GROUP_REFERENCE.sub(lambda reference: _group(reference, groups), template)

    def replace_in_text(self, template: str) -> str:
        """Return the whole text with every match replaced."""
        lines = self._field.toPlainText().split("\n")
        for match in reversed(self.matches):
            line = _to_utf16(lines[match.line])
            replacement = self.replacement(match, template)
            lines[match.line] = (
                _from_utf16(line[: 2 * match.column])
                + replacement
                + _from_utf16(line[2 * (match.column + match.length) :])
            )
        return "\n".join(lines)

    def _restart_later(self) -> None:
        if self._active:
            self._line, self.matches = 0, []
            self._next.start(WAIT_MS)

    def _restart(self) -> None:
        self.matches = []
        self._line = 0
        self.error = ""
        if not self._regex.isValid():
            self.error, self._active = self._regex.errorString(), False
        if self._active:
            self._slice()
        else:
            self._next.stop()
            self.changed.emit()

    def _slice(self) -> None:
        until = perf_counter() + SLICE_S
        block = self._field.document().findBlockByNumber(self._line)
        while block.isValid() and len(self.matches) < MAX_MATCHES and not self.error and perf_counter() < until:
            self._search_line(block.text(), block.position())
            self._line += 1
            block = block.next()
        if block.isValid() and len(self.matches) < MAX_MATCHES and not self.error:
            self._next.start(PAUSE_MS)
        self.changed.emit()

    def _search_line(self, text: str, start: int) -> None:
        column, text = 0, text[:LINE_LIMIT]
        size = len(text) if text.isascii() else len(_to_utf16(text)) // 2
        while column <= size and len(self.matches) < MAX_MATCHES:
            match = self._regex.match(text, column)
            if not match.isValid():
                self.error = self.tr("This pattern takes too long. Use a simpler one.")
                return
            if not match.hasMatch():
                return
            length = match.capturedLength()
            if length:
                self.matches.append(TextMatch(start + match.capturedStart(), length, self._line, match.capturedStart()))
            column = match.capturedEnd() + (0 if length else 1)


def select_match(field: QPlainTextEdit, match: TextMatch) -> None:
    """Select a match and scroll it into view."""
    cursor = QTextCursor(field.document())
    cursor.setPosition(match.position)
    cursor.setPosition(match.position + match.length, QTextCursor.MoveMode.KeepAnchor)
    field.setTextCursor(cursor)
    field.ensureCursorVisible()


def _group(reference: re.Match[str], match: QRegularExpressionMatch) -> str:
    char = reference[1] or reference[2]
    return {"n": "\n", "t": "\t", "\\": "\\"}.get(char) or match.captured(int(char))


def _to_utf16(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass")


def _from_utf16(units: bytes) -> str:
    return units.decode("utf-16-le", "surrogatepass")
