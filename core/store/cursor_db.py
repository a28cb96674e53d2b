"""Read the SQLite database in which Cursor's command line stores one session."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from core.store.foreign_db import has_columns, open_foreign_db

MESSAGES, FOLDERS = 1, 9  # fields of the root blob: the ids of the messages, and the folders


class CursorSession(NamedTuple):
    """A session: its details, its folder as a file URI, and the JSON of its messages."""

    details: dict[str, Any]
    folder: str
    messages: list[bytes]


def is_cursor_db(path: Path) -> bool:
    return has_columns(path, {"blobs": {"id", "data"}, "meta": {"key", "value"}})


def read_cursor_session(path: Path) -> CursorSession:
    """Read a session. Raises ValueError if the schema or the contents are not as expected."""
    with open_foreign_db(path) as db:
        row = db.execute("SELECT value FROM meta WHERE key = '0'").fetchone()
        details = json.loads(bytes.fromhex(row["value"])) if row else {}
        root = db.execute("SELECT data FROM blobs WHERE id = ?", (details.get("latestRootBlobId"),)).fetchone()
        fields = list(_fields(bytes(root["data"]))) if root else []
        ids = [value.hex() for number, value in fields if number == MESSAGES]
        folder = next((value.decode("utf-8", "replace") for number, value in fields if number == FOLDERS), "")
        found = (db.execute("SELECT data FROM blobs WHERE id = ?", (id,)).fetchone() for id in ids)
        return CursorSession(details, folder, [bytes(row["data"]) for row in found if row])


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the number and the content of each length-delimited field of a Protocol Buffers message."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        match key & 7:
            case 0:
                _, at = _varint(message, at)
            case 1:
                at += 8
            case 2:
                length, at = _varint(message, at)
                if at + length > len(message):
                    raise ValueError("a field is cut off")
                yield key >> 3, message[at : at + length]
                at += length
            case 5:
                at += 4
            case _:
                raise ValueError("an unknown type of field")


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(message) or shift > 63:
            raise ValueError("a number is cut off")
        byte = message[at]
        value |= (byte & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if not byte & 0x80:
            return value, at
