"""Decodes the escapes of JSON, source code and URLs in a text, and maps positions back to the original text.

Color codes and invisible characters are dropped, also in the form ⟦U+200B⟧ in which `visible` writes them.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Final

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


@dataclass(frozen=True, slots=True)
class DecodedText:
    """A text with its escapes decoded; possibly only the lines that contain escapes.

    `starts` are the positions in `text` at which its pieces begin, and `spans` the start and end of each piece in the
    original. A piece is either copied unchanged, or one decoded escape.
    """

    text: str
    starts: list[int]
    spans: list[tuple[int, int]]

    def original_span(self, start: int, end: int) -> tuple[int, int]:
        """Return the start and end in the original text of the part that became text[start:end]."""
        return self._char_span(start)[0], self._char_span(max(start, end - 1))[1]

    def _char_span(self, position: int) -> tuple[int, int]:
        index = bisect_right(self.starts, position) - 1
        start, end = self.spans[index]
        next_start = self.starts[index + 1] if index + 1 < len(self.starts) else len(self.text)
        if next_start - self.starts[index] == end - start:
            return start + position - self.starts[index], start + position - self.starts[index] + 1
        return start, end


def decode_escapes(text: str) -> DecodedText | None:
    """Decode the lines that contain escapes, or the whole text if it has hidden codes; return None without either.

    With hidden codes, other lines matter too: the codes may split the first line of a secret of several lines.
    """
    whole = bool(_MAY_HIDE.search(text) and _ANY_HIDDEN.search(text))
    if not whole and "\\" not in text and "%" not in text:
        return None
    parts: list[str] = []
    starts: list[int] = []
    spans: list[tuple[int, int]] = []
    size = line_end = position = 0

    def add(part: str, start: int, end: int) -> None:
        nonlocal size
        if part:
            parts.append(part)
            starts.append(size)
            spans.append((start, end))
            size += len(part)

    for match in _ESCAPE.finditer(text):
        char = _decode(match)
        if char is None:
            continue
        if match.start() >= line_end:
            if parts:
                add(text[position : min(line_end + 1, len(text))], position, min(line_end + 1, len(text)))
            position = 0 if whole else text.rfind("\n", 0, match.start()) + 1
            line_end = -1 if whole else text.find("\n", match.end())
            line_end = len(text) if line_end < 0 else line_end
        add(text[position : match.start()], position, match.start())
        add(char, match.start(), match.end())
        position = match.end()
    if not parts:
        return None
    add(text[position:line_end], position, line_end)
    return DecodedText("".join(parts), starts, spans)


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
