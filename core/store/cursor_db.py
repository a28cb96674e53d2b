"""Reads the SQLite database in which Cursor's command line stores one session."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from core.domain.protobuf import fields
from core.store.foreign_db import has_columns, open_foreign_db

# Field numbers in the root blob.
MESSAGE_ID = 1
FOLDER = 9


class CursorSession(NamedTuple):
    """A session of Cursor: its details, its folder as a file URI, and the JSON of each message."""

    details: dict[str, Any]
    folder: str
    messages: list[bytes]


def is_cursor_db(path: Path) -> bool:
    return has_columns(path, {"blobs": {"id", "data"}, "meta": {"key", "value"}})


def read_cursor_session(path: Path) -> CursorSession:
    """Read the session in a database. Raise ValueError if the schema or the contents are not as expected."""
    with open_foreign_db(path) as db:
        row = db.execute("SELECT value FROM meta WHERE key = '0'").fetchone()
        details = json.loads(bytes.fromhex(row["value"])) if row else {}
        root = db.execute("SELECT data FROM blobs WHERE id = ?", (details.get("latestRootBlobId"),)).fetchone()
        root_fields = list(fields(bytes(root["data"]))) if root else []
        message_ids = _values(root_fields, MESSAGE_ID)
        folders = _values(root_fields, FOLDER)
        rows = [
            db.execute("SELECT data FROM blobs WHERE id = ?", (message_id.hex(),)).fetchone()
            for message_id in message_ids
        ]
        return CursorSession(
            details=details,
            folder=folders[0].decode("utf-8", "replace") if folders else "",
            messages=[bytes(row["data"]) for row in rows if row],
        )


def _values(root_fields: Iterable[tuple[int, Any]], number: int) -> list[bytes]:
    """Return the values of the fields with a number. Other values than bytes are left out."""
    return [value for field_number, value in root_fields if field_number == number and isinstance(value, bytes)]
