"""Reads the properties of a model from the header of its GGUF file."""

import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from core.domain.problems import Problem

STRING, ARRAY = 8, 9
FORMATS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
MAX_VALUES = 4096
MAX_STRING = 1 << 24
# Most bytes to read, which also limits the time. Real headers have a few kilobytes before the vocabulary.
MAX_HEADER = 4 << 20
MAX_ARRAY = 4096  # longer arrays of numbers are skipped
CACHE_BYTES = 2  # bytes per number in the key-value cache
# Architectures of models that cannot chat.
NO_CHAT = ("bert", "nomic-bert", "jina-bert-v2", "clip", "t5encoder", "whisper")


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """The properties of a model.

    Attributes:
        context_length: the number of tokens that the model was trained with; 0 if unknown.
        cache_bytes: the memory in bytes that each token of the context needs; 0 if unknown.
    """

    architecture: str = ""
    name: str = ""
    context_length: int = 0
    cache_bytes: int = 0

    @property
    def can_chat(self) -> bool:
        return self.architecture not in NO_CHAT


class _Header:
    """A file of which at most `MAX_HEADER` bytes are read; `read` raises ValueError beyond that."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._left = MAX_HEADER
        self.skip = file.seek

    def read(self, size: int) -> bytes:
        self._left -= size
        if self._left < 0:
            raise ValueError("Its header is too long.")
        return self._file.read(size)


def read_header(path: Path) -> GgufHeader:
    """Read the header of a GGUF file up to the vocabulary; raise `Problem` for a file in another format."""
    try:
        with path.open("rb") as file:
            return _read(_Header(file))
    except (OSError, ValueError, KeyError, struct.error) as error:
        raise Problem(f"{path} is not a model file.", f"{error}", "Choose a file in the GGUF format.") from error


def _read(file: _Header) -> GgufHeader:
    if file.read(4) != b"GGUF":
        raise ValueError("It does not begin with GGUF.")
    _, _, count = struct.unpack("<IQQ", file.read(20))
    values: dict[str, object] = {}
    for _ in range(min(count, MAX_VALUES)):
        name = _read_string(file)
        if name.startswith("tokenizer."):
            break  # the long vocabulary begins here
        (kind,) = struct.unpack("<I", file.read(4))
        values[name] = _read_value(file, kind)
    architecture = str(values.get("general.architecture", ""))
    properties = {name.removeprefix(f"{architecture}."): value for name, value in values.items()}
    context_length = properties.get("context_length")
    return GgufHeader(
        architecture=architecture,
        name=str(values.get("general.name", "")),
        context_length=context_length if isinstance(context_length, int) else 0,
        cache_bytes=_cache_bytes(properties),
    )


def _cache_bytes(properties: dict[str, object]) -> int:
    """Return the bytes of the cached keys and values of one token in all layers; 0 if unknown."""
    layers, width = properties.get("block_count"), properties.get("embedding_length")
    heads = properties.get("attention.head_count")
    if isinstance(heads, list):
        heads = max(heads, default=0)
    if not (isinstance(layers, int) and isinstance(width, int) and isinstance(heads, int) and heads):
        return 0
    kv_heads = properties.get("attention.head_count_kv", heads)
    if isinstance(kv_heads, list):
        kv_heads_of_all_layers = sum(kv_heads)
    else:
        kv_heads_of_all_layers = layers * kv_heads if isinstance(kv_heads, int) else 0
    key_length = properties.get("attention.key_length", width // heads)
    value_length = properties.get("attention.value_length", width // heads)
    if not (isinstance(key_length, int) and isinstance(value_length, int)):
        return 0
    return kv_heads_of_all_layers * (key_length + value_length) * CACHE_BYTES


def _read_string(file: _Header) -> str:
    (length,) = struct.unpack("<Q", file.read(8))
    if length > MAX_STRING:
        raise ValueError("Its header is damaged.")
    return file.read(length).decode("utf-8", "replace")


def _read_value(file: _Header, kind: int) -> object:
    """Read a value of a header. Arrays that are long or contain strings are skipped, with an empty list as result."""
    if kind == STRING:
        return _read_string(file)
    if kind != ARRAY:
        value: int | float | bool = struct.unpack(FORMATS[kind], file.read(struct.calcsize(FORMATS[kind])))[0]
        return value
    item, count = struct.unpack("<IQ", file.read(12))
    if item == ARRAY or count > MAX_STRING:
        raise ValueError("Its header is damaged.")
    if item == STRING:
        for _ in range(count):
            _read_string(file)
        return []
    if count > MAX_ARRAY:
        file.skip(struct.calcsize(FORMATS[item]) * count, os.SEEK_CUR)
        return []
    return [_read_value(file, item) for _ in range(count)]
