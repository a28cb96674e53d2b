"""Splits a git configuration into logical lines, each with its section, as git reads them."""

import re
from collections.abc import Iterator
from typing import NamedTuple

HEADER = re.compile(r'\[([a-z0-9.-]+)(?: "([^"\\\n]*)")?\]', re.IGNORECASE)
# A key and at most one plain value: without quotes, escapes, comments and continuations, git reads it as written.
ENTRY = re.compile(r"([a-z][a-z0-9-]*)(?:[ \t]*=[ \t]*([^\"\\#;\n]*))?", re.IGNORECASE)
_BLANKS = " \t\r"


class _ValueEnd(NamedTuple):
    """How a line of a value ends: continued by a backslash, inside quotes."""

    is_continued: bool
    in_quotes: bool


class ConfigLine(NamedTuple):
    """A line with the section in which git reads it; a header is part of its own section.

    After an unusual header, such as one with a comment, `section` is "" and `subsection` is that header.
    """

    section: str  # in lowercase
    subsection: str
    text: str  # with continuation lines

    @property
    def entry(self) -> str:
        return self.text.strip(_BLANKS)

    @property
    def is_header(self) -> bool:
        return HEADER.fullmatch(self.entry) is not None


def config_lines(text: str) -> Iterator[ConfigLine]:
    section = subsection = ""
    for line in _logical_lines(text):
        entry = line.strip(_BLANKS)
        if header := HEADER.fullmatch(entry):
            section, subsection = header[1].casefold(), header[2] or ""
        elif entry.startswith("["):
            section, subsection = "", entry
        yield ConfigLine(section, subsection, line)


def _logical_lines(text: str) -> Iterator[str]:
    """Yield each logical line. A backslash at the end of a value joins the next line, whatever that looks like."""
    parts: list[str] = []
    in_quotes = False
    for part in text.split("\n"):
        value = part if parts else _value(part)
        parts.append(part)
        is_continued, in_quotes = _scan_value(value.removesuffix("\r"), in_quotes)
        if not is_continued:
            yield "\n".join(parts)
            parts, in_quotes = [], False
    if parts:
        yield "\n".join(parts)


def _value(line: str) -> str:
    """Return the text after the equals sign of a line; "" for a comment."""
    return "" if line.lstrip(_BLANKS).startswith(("#", ";")) else line.partition("=")[2]


def _scan_value(part: str, in_quotes: bool) -> _ValueEnd:
    """Return how a line of a value ends that begins outside or inside quotes."""
    escaped = False
    for character in part:
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == '"':
            in_quotes = not in_quotes
        elif character in "#;" and not in_quotes:
            return _ValueEnd(is_continued=False, in_quotes=False)
    return _ValueEnd(is_continued=escaped, in_quotes=in_quotes)
