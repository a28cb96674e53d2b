"""Blobs: contents that are stored outside of the events, compressed, under their SHA-256 hash."""

import sqlite3
import threading
import zlib
from functools import cache
from hashlib import sha256

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"  # start of a zstd frame; blobs from before schema version 15 are zlib
LEVEL = 3
MAX_BLOB_SIZE = 1 << 31  # largest size of a blob in bytes; a corrupt header may claim any size


class CorruptBlob(ValueError):
    """Raised when a blob cannot be decompressed."""


class _Zstd(threading.local):
    """The zstd compressor and decompressor of one thread. They are kept, because creating them is slow."""

    def __init__(self) -> None:
        import zstandard  # slow to import, and not needed for the window's first paint

        self.pack = zstandard.ZstdCompressor(LEVEL, write_checksum=True).compress
        self.unpack = zstandard.ZstdDecompressor()
        self.size = zstandard.frame_content_size
        self.error = zstandard.ZstdError


@cache
def _zstd() -> _Zstd:
    return _Zstd()


def blob_hash(body: bytes) -> str:
    """Return the SHA-256 hash under which content is stored."""
    return sha256(body).hexdigest()


def decompress(body: bytes, limit: int = 0) -> bytes:
    """Decompress a stored blob, or only its first `limit` bytes. Raise CorruptBlob if that fails."""
    if not body.startswith(ZSTD_MAGIC):
        try:
            return zlib.decompressobj().decompress(body, limit) if limit else zlib.decompress(body)
        except zlib.error as error:
            raise CorruptBlob(str(error)) from error
    zstd = _zstd()
    try:
        if limit:
            with zstd.unpack.stream_reader(body) as stream:
                return stream.read(limit)
        if zstd.size(body) > MAX_BLOB_SIZE:
            raise CorruptBlob("Its header claims an impossible size.")
        return zstd.unpack.decompress(body)
    except zstd.error as error:
        raise CorruptBlob(str(error)) from error


def compress(body: bytes) -> bytes:
    """Compress a blob at a low level: outputs of tools are many and repetitive, and the user is waiting."""
    return _zstd().pack(body)


def read_blob(db: sqlite3.Connection, name: str, limit: int = 0) -> bytes | None:
    """Return a stored blob, or only its first `limit` bytes; None if it is missing."""
    row = db.execute("SELECT body FROM blob WHERE hash = ?", (name,)).fetchone()
    return decompress(row[0], limit) if row else None
