"""Reads the JSON that models write: with single quotes, trailing commas, line breaks in strings and Python literals.

A value is read only up to its own closing delimiter, so a value that was cut off is never read as a shorter one.
"""

import json
import re
from typing import Any, NoReturn

DEEPEST = 64
LONGEST_NUMBER = 40
# Delimiters of strings. Gemma's call formats use the last two.
QUOTES = ('"""', "'''", '"', "'", '<|"|>', "<escape>")
LITERALS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"} | {sign: sign for sign in "\"'\\/"}
_WORD = re.compile(r"[A-Za-z_$][\w$-]*")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])")
_SPACE = re.compile(r"\s*")


def read_json(text: str, start: int = 0, end_mark: re.Pattern[str] | None = None) -> tuple[Any, int]:
    """Return the value that begins at `start` and the position after it. Raises ValueError if there is none.

    The outermost object may lack its closing brace if an inner object ends it and `end_mark` follows: models often
    close a code fence one brace too early, after the complete arguments.
    """
    try:
        return _STRICT.raw_decode(text, start)
    except (ValueError, RecursionError):
        return LenientReader(text, end_mark).value(start)


def parse_object(text: str) -> dict[str, Any] | None:
    """Return the object that is the whole text, or None."""
    try:
        value, end = read_json(text, len(text) - len(text.lstrip()))
    except ValueError:
        return None
    return value if isinstance(value, dict) and not text[end:].strip() else None


class LenientReader:
    """A recursive-descent reader. Each method returns a value and the position after it, or raises ValueError."""

    def __init__(self, text: str, end_mark: re.Pattern[str] | None = None) -> None:
        self._text = text
        self._end_mark = end_mark

    def value(self, at: int, depth: int = 0) -> tuple[Any, int]:
        at = self.skip_space(at)
        sign = self._text[at : at + 1]
        if depth > DEEPEST:
            raise ValueError("nested too deeply")
        if sign == "{":
            return self._object(at + 1, depth)
        if sign == "[":
            return self._list(at + 1, depth)
        if self._text.startswith(QUOTES, at):
            return self.string(at)
        if found := _NUMBER.match(self._text, at):
            if len(found[0]) > LONGEST_NUMBER:
                raise ValueError("a number is too long")
            return json.loads(found[0].lstrip("0") or "0" if found[0].isdigit() else found[0]), found.end()
        if (found := _WORD.match(self._text, at)) and found[0] in LITERALS:
            return LITERALS[found[0]], found.end()
        raise ValueError(f"no value at {at}")

    def string(self, at: int) -> tuple[str, int]:
        """Read a string up to its unescaped closing quote."""
        quote = next(quote for quote in QUOTES if self._text.startswith(quote, at))
        if len(quote) > 3:  # a token of its own, so nothing in the string is escaped
            start = at + len(quote)
            end = self._text.find(quote, start)
            if end < 0:
                raise ValueError("a string is not closed")
            return self._text[start:end], end + len(quote)
        parts: list[str] = []
        at += len(quote)
        plain = re.compile(rf"[^{quote[0]}\\]+")
        while at < len(self._text):
            if found := plain.match(self._text, at):
                parts.append(found[0])
                at = found.end()
            elif self._text[at] == "\\":
                part, at = self._escape(at)
                parts.append(part)
            elif self._text.startswith(quote, at):
                return "".join(parts), at + len(quote)
            else:
                parts.append(self._text[at])
                at += 1
        raise ValueError("a string is not closed")

    def skip_space(self, at: int) -> int:
        found = _SPACE.match(self._text, at)
        assert found
        return found.end()

    def _escape(self, at: int) -> tuple[str, int]:
        """Read an escape sequence. An unknown one stays as it is, because models forget to escape backslashes."""
        sign = self._text[at + 1 : at + 2]
        if sign in ("u", "x"):
            digits = self._text[at + 2 : at + (6 if sign == "u" else 4)]
            if re.fullmatch(r"[0-9a-fA-F]{2}|[0-9a-fA-F]{4}", digits):
                return chr(int(digits, 16)), at + 2 + len(digits)
        if not sign:
            raise ValueError("a string is not closed")
        return ESCAPES.get(sign, "\\" + sign), at + 2

    def _object(self, at: int, depth: int) -> tuple[dict[str, Any], int]:
        made: dict[str, Any] = {}
        while True:
            at = self.skip_space(at)
            if self._text[at : at + 1] == "}":
                return made, at + 1
            if not depth and made and self._ends_early(at):
                return made, at
            if self._text.startswith(QUOTES, at):
                key, at = self.string(at)
            elif found := _WORD.match(self._text, at):
                key, at = found[0], found.end()
            else:
                raise ValueError(f"no key at {at}")
            at = self.skip_space(at)
            if self._text[at : at + 1] != ":" or key in made:
                raise ValueError(f"no value, or two, for {key!r}")
            made[key], at = self.value(at + 1, depth + 1)
            at = self.skip_space(at)
            if self._text[at : at + 1] == ",":
                at += 1
            elif self._text[at : at + 1] != "}" and (depth or not self._ends_early(at)):
                raise ValueError(f"no comma at {at}")

    def _list(self, at: int, depth: int) -> tuple[list[Any], int]:
        made: list[Any] = []
        while True:
            at = self.skip_space(at)
            if self._text[at : at + 1] == "]":
                return made, at + 1
            item, at = self.value(at, depth + 1)
            made.append(item)
            at = self.skip_space(at)
            if self._text[at : at + 1] == ",":
                at += 1
            elif self._text[at : at + 1] != "]":
                raise ValueError(f"no comma at {at}")

    def _ends_early(self, at: int) -> bool:
        closed = self._text[:at].rstrip().endswith("}")
        return closed and self._end_mark is not None and self._end_mark.match(self._text, at) is not None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a key is given twice")
    return made


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON number")


def _integer(text: str) -> int:
    if len(text) > LONGEST_NUMBER:
        raise ValueError("a number is too long")
    return int(text)


_STRICT = json.JSONDecoder(strict=False, object_pairs_hook=_unique, parse_constant=_refuse, parse_int=_integer)
