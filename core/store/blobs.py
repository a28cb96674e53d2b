"""Contents kept apart: named by what they are, packed."""

import sqlite3
import threading
import zlib
from functools import cache
from hashlib import sha256

FRAME = b"\x28\xb5\x2f\xfd"  # what zstd begins with; contents of before form 15 are zlib's
LEVEL = 3
LARGEST = 1 << 31  # bytes of contents: a damaged head may promise anything


class Damaged(ValueError):
    """Packed contents that are not what was packed."""


class _Packing(threading.local):
    """A thread's own: making one takes longer than to pack a page of text."""

    def __init__(self) -> None:
        import zstandard  # not before the first contents: a window opens without any

        self.pack = zstandard.ZstdCompressor(LEVEL, write_checksum=True).compress
        self.unpack = zstandard.ZstdDecompressor()
        self.size = zstandard.frame_content_size
        self.trouble = zstandard.ZstdError


@cache
def _packing() -> _Packing:
    return _Packing()


def blob_hash(body: bytes) -> str:
    """Contents are named by what they are."""
    return sha256(body).hexdigest()


def inflate(body: bytes, limit: int = 0) -> bytes:
    """A stored blob as it was, or no more than its first bytes. Raises Damaged."""
    if not body.startswith(FRAME):
        try:
            return zlib.decompressobj().decompress(body, limit) if limit else zlib.decompress(body)
        except zlib.error as error:
            raise Damaged(str(error)) from error
    own = _packing()
    try:
        if limit:
            with own.unpack.stream_reader(body) as stream:
                return stream.read(limit)
        if own.size(body) > LARGEST:
            raise Damaged("It says that it is larger than any.")
        return own.unpack.decompress(body)
    except own.trouble as error:
        raise Damaged(str(error)) from error


def deflate(body: bytes) -> bytes:
    """Outputs are many and repetitive, and a person is waiting."""
    return _packing().pack(body)


def kept(db: sqlite3.Connection, name: str, limit: int = 0) -> bytes | None:
    """Contents that were kept apart, or no more than their first bytes; None where they are gone."""
    row = db.execute("SELECT body FROM blob WHERE hash = ?", (name,)).fetchone()
    return inflate(row[0], limit) if row else None
