"""Contents kept apart: named by what they are, compressed."""

import zlib
from hashlib import sha256


def blob_hash(body: bytes) -> str:
    """Contents are named by what they are."""
    return sha256(body).hexdigest()


def inflate(body: bytes) -> bytes:
    """A stored blob as it was."""
    return zlib.decompress(body)


def deflate(body: bytes) -> bytes:
    """Level 1: outputs are many and repetitive, and a person is waiting."""
    return zlib.compress(body, 1)
