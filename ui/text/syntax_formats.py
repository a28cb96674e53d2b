"""The character formats for syntax highlighting in the skill editor, diffs and code blocks."""

from typing import Final, NamedTuple

from PySide6.QtGui import QFont, QTextCharFormat

from ui.style.theme import Look
from ui.text.code_tokens import SyntaxSpan

COLOR_TOKENS: Final = {
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


class Utf16Range(NamedTuple):
    """A range of a text in UTF-16 code units, as Qt counts; a character beyond U+FFFF has two."""

    start: int
    length: int


def utf16_range(text: str, span: SyntaxSpan) -> Utf16Range:
    if text.isascii():
        return Utf16Range(span.start, span.length)
    end = span.start + span.length
    return Utf16Range(_utf16_length(text[: span.start]), _utf16_length(text[span.start : end]))


def _utf16_length(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def syntax_formats(look: Look) -> dict[str, QTextCharFormat]:
    """Return the character format for each kind of span."""
    formats: dict[str, QTextCharFormat] = {}
    for kind, token in COLOR_TOKENS.items():
        formats[kind] = QTextCharFormat()
        formats[kind].setForeground(look.theme.color(token))
    formats["heading"].setFontWeight(QFont.Weight.Bold)
    formats["strong"] = QTextCharFormat()
    formats["strong"].setFontWeight(QFont.Weight.Bold)
    formats["em"] = QTextCharFormat()
    formats["em"].setFontItalic(True)
    return formats
