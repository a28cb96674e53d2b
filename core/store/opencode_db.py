"""Reads the SQLite database of OpenCode and yields its contents in the format of OpenCode's JSON export."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.store.foreign_db import column_names, has_columns, open_foreign_db


def read_opencode_sessions(path: Path, since: int = 0) -> Iterator[dict[str, Any]]:
    """Yield the `info` of each session, parents first, and after it each of the session's messages.

    Only sessions changed at or after `since`, in milliseconds since 1970, are included. Raise ValueError if the schema
    or the contents are not as expected.
    """
    with open_foreign_db(path) as db:
        changed = "time_updated" if "time_updated" in column_names(db, "session") else "time_created"
        sessions = db.execute(
            "SELECT id, parent_id, directory, title, time_created FROM session"
            f" WHERE {changed} >= ? ORDER BY parent_id IS NOT NULL, time_created",
            (since,),
        ).fetchall()
        for row in sessions:
            yield {"info": {**dict(row), "parentID": row["parent_id"]}, "session": row["id"]}
            yield from _messages(db, row["id"])


def is_opencode_db(path: Path) -> bool:
    """Return whether the file has OpenCode's tables."""
    tables = {"session": {"id"}, "message": {"session_id"}, "part": {"message_id"}, "project": {"id"}}
    return has_columns(path, tables)


def _messages(db: sqlite3.Connection, session: str) -> Iterator[dict[str, Any]]:
    rows = db.execute("SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id", (session,))
    for row in rows:
        parts = db.execute("SELECT data FROM part WHERE message_id = ? ORDER BY id", (row["id"],))
        info = {**json.loads(row["data"]), "id": row["id"]}
        yield {"session": session, "message": {"info": info, "parts": [json.loads(part["data"]) for part in parts]}}
