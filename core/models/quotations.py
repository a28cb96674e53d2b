"""Recognizes whether a passage was copied from other content, even if it was decoded or its lines had prefixes.

A model quotes what a file says, not how it is stored: the text in a JSON file or a page, the lines of a diff without
`+`, a log without times. So only words and opening brackets are compared, in order, after decoding both sides.
"""

import base64
import html
import re
from collections.abc import Iterable, Iterator
from urllib.parse import unquote

MAX_TOKENS = 100  # words and brackets at the start of a passage that are compared
MAX_PREFIX = 16  # most words at the start of a line that may be omitted, such as log times or line numbers
DECODINGS = 2  # nested levels of escapes to decode, such as of a page in a JSON file
_TOKEN = re.compile(r"\n|\w+|[({]")
# Any number of backslashes, because JSON in JSON doubles them.
_ESCAPE = re.compile(r"(?<!\\)\\++(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([nrt]))?")
_MARKUP = re.compile(
    r"(?:\x1b|⟦U\+001B⟧)\[[0-9;:?]*[A-Za-z]|</?(?:b|br|code|div|em|i|li|p|pre|span|td|tr)\b[^<>]{0,200}>"
)
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/_-]{20,}={0,2}\s?)+")


class QuotableText:
    """Content that a reply may quote, indexed for `contains`."""

    def __init__(self, text: str) -> None:
        self._positions: dict[str, list[int]] = {}
        line_starts: list[int] = []
        size = 0
        for token in _tokens("\n".join([text, *_decoded_base64(text)])):
            if token == "\n":
                line_starts.append(size)
            else:
                self._positions.setdefault(token, []).append(size)
                size += 1
        self._size = size
        self._line_starts = self._bits(line_starts)

    def contains(self, passage: str) -> bool:
        """Return whether the content contains the words of a passage in order, with at most line prefixes in between.

        All positions are compared at once: each bit of an integer stands for one position in the content.
        """
        tokens = [token for token in _tokens(passage) if token != "\n"][:MAX_TOKENS]
        if not tokens or not all(token in self._positions for token in tokens):
            return False
        places = {token: self._bits(self._positions[token]) for token in set(tokens)}
        reached = places[tokens[0]]
        for token in tokens[1:]:
            following = reached << 1
            skipped = following & self._line_starts
            for _ in range(MAX_PREFIX if skipped else 0):
                skipped <<= 1
                following |= skipped
            reached = following & places[token]
            if not reached:
                return False
        return True

    def _bits(self, positions: Iterable[int]) -> int:
        bits = bytearray(self._size // 8 + 1)
        for position in positions:
            bits[position >> 3] |= 1 << (position & 7)
        return int.from_bytes(bits, "little")


def _tokens(text: str) -> list[str]:
    for _ in range(DECODINGS):
        text = html.unescape(unquote(_ESCAPE.sub(_unescaped, text)))
    return _TOKEN.findall(_MARKUP.sub("", text))


def _unescaped(match: re.Match[str]) -> str:
    wide, narrow, space = match.groups()
    if code := wide or narrow:
        return chr(int(code, 16))
    return {"n": "\n", "r": "\n", "t": " "}.get(space, "")


def _decoded_base64(text: str) -> Iterator[str]:
    for match in _BASE64.finditer(text):
        encoded = "".join(match[0].split()).replace("=", "").replace("-", "+").replace("_", "/")
        if len(encoded) % 4 == 1:  # no number of bytes has this length
            encoded = encoded[:-1]
        yield base64.b64decode(encoded + "==").decode("utf-8", "replace")
