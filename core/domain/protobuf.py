"""A reader of Protocol Buffers messages."""

from collections.abc import Iterator
from typing import Any, NamedTuple


class ProtobufField(NamedTuple):
    """A field of a message: its number, and its value as an int, or as bytes if it is not a number."""

    number: int
    value: Any


def fields(body: Any) -> Iterator[ProtobufField]:
    """Yield the fields of a protobuf message; raise ValueError for anything but a valid message."""
    if not isinstance(body, bytes):
        raise ValueError("expected a message")
    reader = _Reader(body)
    while not reader.is_at_end():
        tag = reader.read_varint()
        value: int | bytes
        match tag & 7:  # the wire type
            case 0:
                value = reader.read_varint()
            case 1:
                value = int.from_bytes(reader.read(8), "little")
            case 2:
                value = reader.read(reader.read_varint())
            case 5:
                value = int.from_bytes(reader.read(4), "little")
            case _:
                raise ValueError("unknown protobuf wire type")
        yield ProtobufField(tag >> 3, value)


class _Reader:
    """Reads a message from its beginning to its end."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._offset = 0

    def is_at_end(self) -> bool:
        return self._offset >= len(self._body)

    def read(self, size: int) -> bytes:
        start, end = self._offset, self._offset + size
        if end > len(self._body):
            raise ValueError("the message is truncated")
        self._offset = end
        return self._body[start:end]

    def read_varint(self) -> int:
        """Read an integer of up to 64 bits, stored in groups of seven bits, the lowest first."""
        value = shift = 0
        while not self.is_at_end() and shift < 64:
            byte = self._body[self._offset]
            self._offset += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value & (1 << 64) - 1
        raise ValueError("unterminated varint")
