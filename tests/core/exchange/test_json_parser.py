"""The fast parser gives the same values as `json.loads`, and invalid UTF-8 is replaced."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.exchange.importers.record import parse_line

ODD = (
    "NaN", "-NaN", "Infinity", "[-Infinity, NaN]", "+1", "01", "1.", ".5", "-", "-0", "-0.0", "1e400", "1e-400",
    "9223372036854775807", "9223372036854775808", "-9223372036854775809", "1" * 4300, "1" * 4301, "1" * 400 + "e5",
    "0.30000000000000004", "2.4703282292062328e-324", "1.7976931348623159e308", "9007199254740993.0",
    '{"a": 1, "b": 2, "a": 3}', '{"": {"": []}}', "[1,]", '{"a": 1,}', "[1 2]", "1 2", "nul", "", " ", "\ufeff1",
    r'"\ud800"', r'"\ude00\ud83d"', r'"\ud83d\ude00"', r'"\ud83d\u0041"', r'"\u0000"', r'"\x"', r'"\uZZZZ"', '"\x00"',
    '"\t"', '"\x7f"', '"\u2028é😀"', "\u00a01", " \t1\r", "[" * 200 + "]" * 200, '{"a":' * 250 + "1" + "}" * 250,
    "[" * 10_000 + "]" * 10_000, "[" * 10_000,
)  # fmt: skip
NO_UTF_8 = (
    b'"\xff"',
    b'{"a\xe9": "\xed\xa0\x80"}',
    b'"\xc0\x80"',
    b'"\xf4\x90\x80\x80"',
    b'"\xe2\x82',
    b"\xff",
    b'[1] \xf0"',
)

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
)
DIGITS = st.integers(0, 10**40)


def _same(line: bytes) -> None:
    text = line.decode("utf-8", "replace")
    try:
        expected = json.loads(text)
    except (ValueError, RecursionError):
        expected = None
    raw, value = parse_line(line)
    assert raw == text.encode()
    assert _exactly(value) == _exactly(expected)


def _exactly(value: Any) -> str:
    """Compare numbers to the last bit, with types and the order of keys."""
    return repr(value)


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_unusual_json(text: str) -> None:
    _same(text.encode())


@pytest.mark.parametrize("line", NO_UTF_8, ids=range(len(NO_UTF_8)))
def test_invalid_utf_8(line: bytes) -> None:
    _same(line)


@given(PLAIN, st.booleans())
def test_json_written_by_programs(value: Any, ascii: bool) -> None:
    _same(json.dumps(value, ensure_ascii=ascii).encode("utf-8", "surrogatepass"))


@given(st.booleans(), DIGITS, DIGITS, st.integers(-400, 400))
def test_numbers(minus: bool, whole: int, part: int, power: int) -> None:
    _same(f"{'-' * minus}{whole}.{part}e{power}".encode())
    _same(f"{'-' * minus}{whole}.{part}".encode())


@given(PLAIN, st.data())
def test_damaged_json(value: Any, data: st.DataObject) -> None:
    line = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    at = data.draw(st.integers(0, len(line)))
    _same(line[:at] + data.draw(st.binary(max_size=3)) + line[at + data.draw(st.integers(0, 2)) :])
