"""Reads the context length from the header of a GGUF file."""

import struct
from pathlib import Path
from typing import BinaryIO

from core.domain.problems import Problem

STRING, ARRAY = 8, 9
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}  # bytes of each fixed-size value type
MAX_VALUES = 4096
MAX_STRING = 1 << 24


def read_context_length(path: Path) -> int:
    """Return the context length that the model was trained with, 0 if not stated. Raises `Problem` for other files."""
    try:
        with path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise ValueError("It does not begin with GGUF.")
            _, _, count = struct.unpack("<IQQ", file.read(20))
            for _ in range(min(count, MAX_VALUES)):
                name = _read_string(file)
                (kind,) = struct.unpack("<I", file.read(4))
                if name.endswith(b".context_length") and kind in (4, 10):
                    return int.from_bytes(file.read(SIZES[kind]), "little")
                _skip_value(file, kind)
    except (OSError, ValueError, KeyError, struct.error) as error:
        raise Problem(f"{path} is not a model file.", f"{error}", "Choose a file in the GGUF format.") from error
    return 0


def _read_string(file: BinaryIO) -> bytes:
    (length,) = struct.unpack("<Q", file.read(8))
    if length > MAX_STRING:
        raise ValueError("Its header is damaged.")
    return file.read(length)


def _skip_value(file: BinaryIO, kind: int) -> None:
    if kind == STRING:
        _read_string(file)
    elif kind == ARRAY:
        item, count = struct.unpack("<IQ", file.read(12))
        if item == STRING:
            for _ in range(count):
                _read_string(file)
        else:
            file.seek(SIZES[item] * count, 1)
    else:
        file.seek(SIZES[kind], 1)
