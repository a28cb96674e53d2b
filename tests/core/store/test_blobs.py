"""Blobs are read back unchanged, whichever library compressed them; corruption is detected."""

import struct
import zlib
from concurrent.futures import ThreadPoolExecutor

import pytest

from core.store.blobs import MAX_BLOB_SIZE, ZSTD_MAGIC, CorruptBlob, compress, decompress

BODY = b"".join(b"line %d of a log\n" % n for n in range(20_000))
PACKED = compress(BODY)


@pytest.mark.parametrize("packed", [PACKED, zlib.compress(BODY, 1)], ids=["zstd", "zlib"])
def test_blobs_are_read_completely_or_partially(packed: bytes) -> None:
    assert decompress(packed) == BODY
    assert decompress(packed, 300) == BODY[:300]
    assert decompress(packed, len(BODY) + 1) == BODY


@pytest.mark.parametrize(
    "body", [b"", b"x", ZSTD_MAGIC, b"\x00" * 5_000_000], ids=["nothing", "a byte", "a frame", "zeros"]
)
def test_any_content_round_trips(body: bytes) -> None:
    assert decompress(compress(body)) == body and decompress(compress(body), 3) == body[:3]


@pytest.mark.parametrize(
    "damaged",
    [
        PACKED[:-20],
        PACKED[:200] + bytes([PACKED[200] ^ 1]) + PACKED[201:],
        ZSTD_MAGIC,
        ZSTD_MAGIC + b"\xe0" + struct.pack("<Q", MAX_BLOB_SIZE + 1) + PACKED[9:],
        ZSTD_MAGIC + b"\xe0" + b"\xff" * 8 + PACKED[9:],
        b"",
        b"words",
        zlib.compress(BODY, 1)[:-20],
    ],
    ids=["cut", "a bit", "a head", "large", "endless", "nothing", "words", "zlib, cut"],
)
def test_damage_is_detected(damaged: bytes) -> None:
    with pytest.raises(CorruptBlob):
        decompress(damaged)


def test_concurrent_threads_do_not_interfere() -> None:
    bodies = [b"%d " % n * 50_000 for n in range(40)]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda body: decompress(compress(body)), bodies)) == bodies
