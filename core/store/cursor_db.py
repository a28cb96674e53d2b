"""Reads the SQLite database in which Cursor's command line stores one session."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from core.domain.protobuf import fields
from core.store.foreign_db import has_columns, open_foreign_db

MESSAGES, FOLDERS = 1, 9  # field numbers in the root blob: the IDs of the messages, and the folders


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
        texts = [one for one in fields(bytes(root["data"])) if isinstance(one[1], bytes)] if root else []
        ids = [value.hex() for number, value in texts if number == MESSAGES]
        folder = next((value.decode("utf-8", "replace") for number, value in texts if number == FOLDERS), "")
        found = (db.execute("SELECT data FROM blobs WHERE id = ?", (id,)).fetchone() for id in ids)
        return CursorSession(details, folder, [bytes(row["data"]) for row in found if row])
