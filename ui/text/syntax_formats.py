"""The character formats for syntax highlighting in the skill editor, diffs and code blocks."""

from typing import Final

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


def utf16_range(text: str, span: SyntaxSpan) -> tuple[int, int]:
    """Return the start and length of a span in UTF-16 code units, as Qt counts; a character beyond U+FFFF has two."""
    if text.isascii():
        return span.start, span.length
    before = len(text[: span.start].encode("utf-16-le")) // 2
    return before, len(text[span.start : span.start + span.length].encode("utf-16-le")) // 2


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
