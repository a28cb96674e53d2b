"""Contents come out as they went in, whoever packed them; damage is told."""

import struct
import zlib
from concurrent.futures import ThreadPoolExecutor

import pytest

from core.store.blobs import FRAME, LARGEST, Damaged, deflate, inflate

BODY = b"".join(b"line %d of a log\n" % n for n in range(20_000))
PACKED = deflate(BODY)


@pytest.mark.parametrize("packed", [PACKED, zlib.compress(BODY, 1)], ids=["zstd", "zlib"])
def test_all_of_it_or_its_head(packed: bytes) -> None:
    assert inflate(packed) == BODY
    assert inflate(packed, 300) == BODY[:300]
    assert inflate(packed, len(BODY) + 1) == BODY


@pytest.mark.parametrize("body", [b"", b"x", FRAME, b"\x00" * 5_000_000], ids=["nothing", "a byte", "a frame", "zeros"])
def test_whatever_it_is(body: bytes) -> None:
    assert inflate(deflate(body)) == body and inflate(deflate(body), 3) == body[:3]


@pytest.mark.parametrize(
    "damaged",
    [
        PACKED[:-20],
        PACKED[:200] + bytes([PACKED[200] ^ 1]) + PACKED[201:],
        FRAME,
        FRAME + b"\xe0" + struct.pack("<Q", LARGEST + 1) + PACKED[9:],
        FRAME + b"\xe0" + b"\xff" * 8 + PACKED[9:],
        b"",
        b"words",
        zlib.compress(BODY, 1)[:-20],
    ],
    ids=["cut", "a bit", "a head", "large", "endless", "nothing", "words", "zlib, cut"],
)
def test_damage_is_told(damaged: bytes) -> None:
    with pytest.raises(Damaged):
        inflate(damaged)


def test_threads_do_not_disturb_each_other() -> None:
    bodies = [b"%d " % n * 50_000 for n in range(40)]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda body: inflate(deflate(body)), bodies)) == bodies
