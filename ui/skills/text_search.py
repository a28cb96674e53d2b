"""Searches an editor for text or regular expressions, in slices that do not block the window, and replaces matches."""

import re
from bisect import bisect_left
from time import perf_counter
from typing import Final, NamedTuple

from PySide6.QtCore import QObject, QRegularExpression, QRegularExpressionMatch, QTimer, Signal
from PySide6.QtGui import QTextBlock, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit

MAX_MATCHES: Final = 10_000
SLICE_S: Final = 0.006  # time for which one slice of the search keeps the window waiting
PAUSE_MS: Final = 2  # between two slices
WAIT_MS: Final = 150  # after a change of the text, before the search starts again
# Steps of the regular expression engine (PCRE's LIMIT_MATCH) per match attempt; as measured, 2 ms at most.
MATCH_LIMIT: Final = 50_000
LINE_LIMIT: Final = 20_000  # characters of a line that are searched
GROUP_REFERENCE: Final = re.compile(r"\\(\\|n|t|\d)|\$(\d)")


class TextQuery(NamedTuple):
    """What to search for: a plain text, or a regular expression if `is_regex` is set."""

    text: str = ""
    is_regex: bool = False
    match_case: bool = False
    whole_words: bool = False

    def compiled(self) -> QRegularExpression:
        """Return the regular expression that finds the text."""
        pattern = self.text if self.is_regex else QRegularExpression.escape(self.text)
        if self.whole_words:
            pattern = rf"\b(?:{pattern})\b"
        options = QRegularExpression.PatternOption
        flags = options.UseUnicodePropertiesOption
        if not self.match_case:
            flags |= options.CaseInsensitiveOption
        return QRegularExpression(f"(*LIMIT_MATCH={MATCH_LIMIT}){pattern}", flags)


class TextMatch(NamedTuple):
    """A match: its position and length in the document, its line and its column.

    All of them count UTF-16 code units.
    """

    position: int
    length: int
    line: int
    column: int


class TextSearch(QObject):
    """A search in the text of an editor, which goes on in the background and starts again when the text changes.

    Attributes:
        matches: the matches found so far, in the order of the text.
        error: why the pattern is invalid or cannot be searched for; "" if it can.
    """

    changed = Signal()  # `matches` or `error` may have changed

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
        self._next.timeout.connect(self._search_slice)
        field.document().contentsChanged.connect(self._restart_later)

    @property
    def done(self) -> bool:
        """Whether the whole text has been searched."""
        return not self._next.isActive()

    def start(self, query: TextQuery) -> None:
        """Search for something else. Nothing matches an empty text or an invalid pattern."""
        self._query, self._regex = query, query.compiled()
        self._reset()
        self._active = bool(query.text) and self._regex.isValid()
        if self._active:
            self._search_slice()
            return
        self.error = "" if self._regex.isValid() else self._regex.errorString()
        self.changed.emit()

    def stop(self) -> None:
        """Stop searching, and forget the matches."""
        self._active = False
        self._reset()
        self.changed.emit()

    def index_at(self, position: int) -> int:
        """Return the index of the first match at or after a position; the number of matches if there is none."""
        return bisect_left(self.matches, position, key=lambda match: match.position)

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
            self._reset()
            self._next.start(WAIT_MS)

    def _reset(self) -> None:
        """Go back to the beginning of the text."""
        self._next.stop()
        self._line, self.matches, self.error = 0, [], ""

    def _search_slice(self) -> None:
        """Search line by line until the time is over, and schedule the next slice if lines are left."""
        until = perf_counter() + SLICE_S
        block = self._field.document().findBlockByNumber(self._line)
        while self._can_go_on(block) and perf_counter() < until:
            self._search_line(block.text(), block.position())
            self._line += 1
            block = block.next()
        if self._can_go_on(block):
            self._next.start(PAUSE_MS)
        self.changed.emit()

    def _can_go_on(self, block: QTextBlock) -> bool:
        return block.isValid() and len(self.matches) < MAX_MATCHES and not self.error

    def _search_line(self, text: str, start: int) -> None:
        """Add the matches in a line that starts at the position `start`."""
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
                found = match.capturedStart()
                self.matches.append(TextMatch(position=start + found, length=length, line=self._line, column=found))
            column = match.capturedEnd() + (0 if length else 1)  # so that an empty match is not found again


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
