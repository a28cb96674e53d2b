"""Decodes the escapes of JSON, of source code and of URLs in a text, and maps positions back to the original."""

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Final

# Any number of backslashes, since JSON in JSON doubles them; %25 is an encoded percent sign.
_ESCAPE: Final = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([nrtbf\"'/]))|%(?:25){0,3}([0-9a-fA-F]{2})")
_CONTROL: Final = {"n": "\n", "r": "\n", "t": "\t", "b": " ", "f": " "}


@dataclass(frozen=True, slots=True)
class DecodedText:
    """The lines of a text that contain escapes, decoded.

    `starts` are the positions where a piece of `text` begins, and `pieces` the start and end of each in the original.
    A piece is copied as it is, unless it is one escape, which became one character.
    """

    text: str
    starts: list[int]
    pieces: list[tuple[int, int]]

    def original_span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the original text that became text[start:end]."""
        return self._original(start)[0], self._original(max(start, end - 1))[1]

    def _original(self, at: int) -> tuple[int, int]:
        place = bisect_right(self.starts, at) - 1
        start, end = self.pieces[place]
        following = self.starts[place + 1] if place + 1 < len(self.starts) else len(self.text)
        if following - self.starts[place] == end - start:
            return start + at - self.starts[place], start + at - self.starts[place] + 1
        return start, end


def decode_escapes(text: str) -> DecodedText | None:
    """Decode the lines that contain escapes, or return None if there are none."""
    if "\\" not in text and "%" not in text:
        return None
    parts: list[str] = []
    starts: list[int] = []
    pieces: list[tuple[int, int]] = []
    size = line_end = at = 0

    def add(part: str, start: int, end: int) -> None:
        nonlocal size
        if part:
            parts.append(part)
            starts.append(size)
            pieces.append((start, end))
            size += len(part)

    for found in _ESCAPE.finditer(text):
        char = _decode(found)
        if not char:
            continue
        if found.start() >= line_end:
            if parts:
                add(text[at : min(line_end + 1, len(text))], at, min(line_end + 1, len(text)))
            at = text.rfind("\n", 0, found.start()) + 1
            line_end = text.find("\n", found.end())
            line_end = len(text) if line_end < 0 else line_end
        add(text[at : found.start()], at, found.start())
        add(char, found.start(), found.end())
        at = found.end()
    if not parts:
        return None
    add(text[at:line_end], at, line_end)
    return DecodedText("".join(parts), starts, pieces)


def _decode(found: re.Match[str]) -> str:
    wide, narrow, named, percent = found.groups()
    if named:
        return _CONTROL.get(named, named)
    char = chr(int(wide or narrow or percent, 16))
    if percent and not char.isascii():
        return ""
    return char if char.isprintable() or char in "\t\n" else " "
