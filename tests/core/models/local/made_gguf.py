"""Makes the headers of GGUF files; the weights are missing."""

import struct
from pathlib import Path

STRING, UINT32 = 8, 4
HEADER: dict[str, str | int] = {
    "general.architecture": "llama",
    "general.name": "Tiny",
    "llama.context_length": 2048,
    "llama.block_count": 2,
    "llama.embedding_length": 64,
    "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": 2,
}


def made_gguf(**changes: str | int) -> bytes:
    """Return a header; a changed name has two underscores in place of a dot."""
    values = HEADER | {name.replace("__", "."): value for name, value in changes.items()}
    body = b"".join(_string(name) + _value(value) for name, value in values.items())
    return struct.pack("<4sIQQ", b"GGUF", 3, 0, len(values)) + body


def write_gguf(path: Path, **changes: str | int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(made_gguf(**changes))
    return path


def _string(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _value(value: str | int) -> bytes:
    if isinstance(value, str):
        return struct.pack("<I", STRING) + _string(value)
    return struct.pack("<II", UINT32, value)
