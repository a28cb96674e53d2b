"""Decodes the escapes of JSON, source code and URLs in a text, and maps positions back to the original text.

Color codes and invisible characters are dropped, also in the form ⟦U+200B⟧ in which `visible` writes them.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Final, NamedTuple

# Escapes have any number of backslashes, since JSON in JSON doubles them, and %25 is an encoded percent sign. The
# lookbehind tries a run of backslashes only from its start; otherwise a long one would take minutes.
_HIDDEN: Final = (
    r"(?:(?:\x1b|⟦U\+001B⟧)\[|\x9b)[0-9;:?]*[A-Za-z]|[\u00ad\u200b-\u200f\u2060\ufeff]|⟦U\+(?:00AD|200[B-F]|2060|FEFF)⟧"
)
_ESCAPE: Final = re.compile(
    rf"(?<!\\)\\++(?:u([0-9a-fA-F]{{4}})|x([0-9a-fA-F]{{2}})|([nrtbf\"'/]))|%(?:25){{0,3}}([0-9a-fA-F]{{2}})|{_HIDDEN}"
)
_ANY_HIDDEN: Final = re.compile(_HIDDEN)
_MAY_HIDE: Final = re.compile(r"[\x1b\x9b\u00ad\u200b-\u200f\u2060\ufeff⟦]")
_CONTROL: Final = {"n": "\n", "r": "\n", "t": "\t", "b": " ", "f": " "}


class TextSpan(NamedTuple):
    """The start and the end of a part of a text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class DecodedText:
    """A text with its escapes decoded; possibly only the lines that contain escapes.

    `starts` are the positions in `text` at which its pieces begin, and `spans` those of the pieces in the original. A
    piece is either copied unchanged, or one decoded escape.
    """

    text: str
    starts: list[int]
    spans: list[TextSpan]

    def original_span(self, start: int, end: int) -> TextSpan:
        """Return the span in the original text of the part that became text[start:end]."""
        return TextSpan(self._char_span(start).start, self._char_span(max(start, end - 1)).end)

    def _char_span(self, position: int) -> TextSpan:
        index = bisect_right(self.starts, position) - 1
        span, piece_start = self.spans[index], self.starts[index]
        piece_end = self.starts[index + 1] if index + 1 < len(self.starts) else len(self.text)
        is_copied = piece_end - piece_start == span.end - span.start
        if not is_copied:
            return span
        start = span.start + position - piece_start
        return TextSpan(start, start + 1)


@dataclass(slots=True)
class _Pieces:
    """The pieces of a decoded text so far, as in `DecodedText`."""

    texts: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    spans: list[TextSpan] = field(default_factory=list)
    size: int = 0

    def add(self, text: str, start: int, end: int) -> None:
        """Add a piece with its span in the original; do nothing if it is empty."""
        if text:
            self.texts.append(text)
            self.starts.append(self.size)
            self.spans.append(TextSpan(start, end))
            self.size += len(text)

    def copy(self, original: str, start: int, end: int) -> None:
        """Add a part of the original text unchanged."""
        self.add(original[start:end], start, end)


def decode_escapes(text: str) -> DecodedText | None:
    """Decode the lines that contain escapes, or the whole text if it has hidden codes; return None without either.

    With hidden codes, other lines matter too: the codes may split the first line of a secret of several lines.
    """
    has_hidden_codes = bool(_MAY_HIDE.search(text) and _ANY_HIDDEN.search(text))
    if not has_hidden_codes and "\\" not in text and "%" not in text:
        return None
    pieces = _Pieces()
    position = line_end = 0
    for match in _ESCAPE.finditer(text):
        char = _decode(match)
        if char is None:
            continue
        if match.start() >= line_end:  # the first escape of another line
            if pieces.texts:
                pieces.copy(text, position, min(line_end + 1, len(text)))  # the rest of the line, with its line break
            line = TextSpan(0, len(text)) if has_hidden_codes else _line_around(text, match)
            position, line_end = line.start, line.end
        pieces.copy(text, position, match.start())
        pieces.add(char, match.start(), match.end())
        position = match.end()
    if not pieces.texts:
        return None
    pieces.copy(text, position, line_end)
    return DecodedText("".join(pieces.texts), pieces.starts, pieces.spans)


def _line_around(text: str, match: re.Match[str]) -> TextSpan:
    """Return the span of the line that contains a match, without its line break."""
    line_end = text.find("\n", match.end())
    return TextSpan(text.rfind("\n", 0, match.start()) + 1, len(text) if line_end < 0 else line_end)


def _decode(match: re.Match[str]) -> str | None:
    """Return the character that an escape stands for, "" for a hidden character, or None to keep the text as it is."""
    wide, narrow, escape, percent = match.groups()
    if not (wide or narrow or escape or percent):
        return ""
    if escape:
        return _CONTROL.get(escape, escape)
    char = chr(int(wide or narrow or percent, 16))
    if percent and not char.isascii():
        return None
    return char if char.isprintable() or char in "\t\n" else " "
