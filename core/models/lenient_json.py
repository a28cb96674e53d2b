"""Reads JSON as models write it: with single quotes, trailing commas, line breaks in strings and Python literals.

A value must be closed by its own delimiter, so that a truncated value is never read as a shorter one.
"""

import json
import re
from typing import Any, NoReturn

DEEPEST = 64
LONGEST_NUMBER = 40
# Delimiters of strings. The last two occur in Gemma's call notations.
QUOTES = ('"""', "'''", '"', "'", '<|"|>', "<escape>")
LITERALS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"} | {sign: sign for sign in "\"'\\/"}
_WORD = re.compile(r"[A-Za-z_$][\w$-]*")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])")
_SPACE = re.compile(r"\s*")


def read_json(text: str, start: int = 0, end_mark: re.Pattern[str] | None = None) -> tuple[Any, int]:
    """Return the value that begins at `start`, and the position after it; raise ValueError if there is none.

    The outermost object may lack its closing brace if an inner object ends there and `end_mark` follows: models often
    omit the last brace before they close a code fence.
    """
    try:
        return _STRICT.raw_decode(text, start)
    except (ValueError, RecursionError):
        return LenientReader(text, end_mark).value(start)


def parse_object(text: str) -> dict[str, Any] | None:
    """Return the object that the whole text consists of, or None."""
    try:
        value, end = read_json(text, len(text) - len(text.lstrip()))
    except ValueError:
        return None
    return value if isinstance(value, dict) and not text[end:].strip() else None


class LenientReader:
    """A recursive-descent parser. Its methods return a value and the position after it, or raise ValueError."""

    def __init__(self, text: str, end_mark: re.Pattern[str] | None = None) -> None:
        self._text = text
        self._end_mark = end_mark

    def _in_double_braces(self, position: int) -> tuple[Any, int]:
        """Read an object in double braces, which models copy from an escaped template and often close only once."""
        value, end = self._object(position + 2, 1)
        outer_end = self.skip_space(end)
        return value, outer_end + 1 if self._text.startswith("}", outer_end) else end

    def value(self, position: int, depth: int = 0) -> tuple[Any, int]:
        position = self.skip_space(position)
        char = self._text[position : position + 1]
        if depth > DEEPEST:
            raise ValueError("nested too deeply")
        if depth == 0 and self._text.startswith("{{", position):
            return self._in_double_braces(position)
        if char == "{":
            return self._object(position + 1, depth)
        if char == "[":
            return self._list(position + 1, depth)
        if self._text.startswith(QUOTES, position):
            return self.string(position)
        if match := _NUMBER.match(self._text, position):
            if len(match[0]) > LONGEST_NUMBER:
                raise ValueError("a number is too long")
            return json.loads(match[0].lstrip("0") or "0" if match[0].isdigit() else match[0]), match.end()
        if (match := _WORD.match(self._text, position)) and match[0] in LITERALS:
            return LITERALS[match[0]], match.end()
        raise ValueError(f"no value at {position}")

    def string(self, position: int) -> tuple[str, int]:
        """Read a string up to its closing quote."""
        quote = next(quote for quote in QUOTES if self._text.startswith(quote, position))
        if len(quote) > 3:  # a delimiter that is a token has no escapes in the string
            start = position + len(quote)
            end = self._text.find(quote, start)
            if end < 0:
                raise ValueError("a string is not closed")
            return self._text[start:end], end + len(quote)
        parts: list[str] = []
        position += len(quote)
        plain_run = re.compile(rf"[^{quote[0]}\\]+")
        while position < len(self._text):
            if match := plain_run.match(self._text, position):
                parts.append(match[0])
                position = match.end()
            elif self._text[position] == "\\":
                part, position = self._escape(position)
                parts.append(part)
            elif self._text.startswith(quote, position):
                return "".join(parts), position + len(quote)
            else:
                parts.append(self._text[position])
                position += 1
        raise ValueError("a string is not closed")

    def skip_space(self, position: int) -> int:
        match = _SPACE.match(self._text, position)
        assert match
        return match.end()

    def _escape(self, position: int) -> tuple[str, int]:
        """Read an escape sequence. An unknown one is kept literally, because models forget to escape backslashes."""
        char = self._text[position + 1 : position + 2]
        if char in ("u", "x"):
            digits = self._text[position + 2 : position + (6 if char == "u" else 4)]
            if re.fullmatch(r"[0-9a-fA-F]{2}|[0-9a-fA-F]{4}", digits):
                return chr(int(digits, 16)), position + 2 + len(digits)
        if not char:
            raise ValueError("a string is not closed")
        return ESCAPES.get(char, "\\" + char), position + 2

    def _object(self, position: int, depth: int) -> tuple[dict[str, Any], int]:
        result: dict[str, Any] = {}
        while True:
            position = self.skip_space(position)
            if self._text[position : position + 1] == "}":
                return result, position + 1
            if not depth and result and self._ends_early(position):
                return result, position
            if self._text.startswith(QUOTES, position):
                key, position = self.string(position)
            elif match := _WORD.match(self._text, position):
                key, position = match[0], match.end()
            else:
                raise ValueError(f"no key at {position}")
            position = self.skip_space(position)
            if self._text[position : position + 1] != ":" or key in result:
                raise ValueError(f"no value, or two, for {key!r}")
            result[key], position = self.value(position + 1, depth + 1)
            position = self.skip_space(position)
            if self._text[position : position + 1] == ",":
                position += 1
            elif self._text[position : position + 1] != "}" and (depth or not self._ends_early(position)):
                raise ValueError(f"no comma at {position}")

    def _list(self, position: int, depth: int) -> tuple[list[Any], int]:
        items: list[Any] = []
        while True:
            position = self.skip_space(position)
            if self._text[position : position + 1] == "]":
                return items, position + 1
            item, position = self.value(position, depth + 1)
            items.append(item)
            position = self.skip_space(position)
            if self._text[position : position + 1] == ",":
                position += 1
            elif self._text[position : position + 1] != "]":
                raise ValueError(f"no comma at {position}")

    def _ends_early(self, at: int) -> bool:
        closed = self._text[:at].rstrip().endswith("}")
        return closed and self._end_mark is not None and self._end_mark.match(self._text, at) is not None


def unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object from its members; raise ValueError if a key occurs twice."""
    members = dict(pairs)
    if len(members) < len(pairs):
        duplicate = next(key for key in members if sum(key == other for other, _ in pairs) > 1)
        raise ValueError(f"{duplicate!r} is given twice")
    return members


def refuse_constant(constant: str) -> NoReturn:
    """Raise ValueError for `NaN` or `Infinity`, which are not valid JSON."""
    raise ValueError(f"{constant} is not a JSON number")


def parse_integer(text: str) -> int:
    """Return an integer; raise ValueError if its text is longer than LONGEST_NUMBER characters."""
    if len(text) > LONGEST_NUMBER:
        raise ValueError("a number is too long")
    return int(text)


_STRICT = json.JSONDecoder(
    strict=False, object_pairs_hook=unique_members, parse_constant=refuse_constant, parse_int=parse_integer
)
