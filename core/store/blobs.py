"""Contents kept apart: named by what they are, compressed."""

import sqlite3
import zlib
from hashlib import sha256


def blob_hash(body: bytes) -> str:
    """Contents are named by what they are."""
    return sha256(body).hexdigest()


def inflate(body: bytes, limit: int = 0) -> bytes:
    """A stored blob as it was, or no more than its first bytes."""
    return zlib.decompressobj().decompress(body, limit) if limit else zlib.decompress(body)


def deflate(body: bytes) -> bytes:
    """Level 1: outputs are many and repetitive, and a person is waiting."""
    return zlib.compress(body, 1)


def kept(db: sqlite3.Connection, name: str, limit: int = 0) -> bytes | None:
    """Contents that were kept apart, or no more than their first bytes; None where they are gone."""
    row = db.execute("SELECT body FROM blob WHERE hash = ?", (name,)).fetchone()
    return inflate(row[0], limit) if row else None
