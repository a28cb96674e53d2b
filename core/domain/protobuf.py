"""A reader of Protocol Buffers messages."""

from collections.abc import Iterator
from typing import Any


def fields(body: Any) -> Iterator[tuple[int, Any]]:
    """Yield number and value of each field of a protobuf message: numbers as int, everything else as bytes.

    Raise ValueError for anything but a valid message.
    """
    if not isinstance(body, bytes):
        raise ValueError("expected a message")
    at = 0
    while at < len(body):
        tag, at = _varint(body, at)
        match tag & 7:
            case 0:
                value, at = _varint(body, at)
                yield tag >> 3, value
            case 1:
                yield tag >> 3, int.from_bytes(_slice(body, at, 8), "little")
                at += 8
            case 2:
                size, at = _varint(body, at)
                yield tag >> 3, _slice(body, at, size)
                at += size
            case 5:
                yield tag >> 3, int.from_bytes(_slice(body, at, 4), "little")
                at += 4
            case _:
                raise ValueError("unknown protobuf wire type")


def _slice(body: bytes, at: int, size: int) -> bytes:
    if at + size > len(body):
        raise ValueError("the message is truncated")
    return body[at : at + size]


def _varint(body: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(body) or shift > 63:
            raise ValueError("unterminated varint")
        byte = body[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value & (1 << 64) - 1, at
