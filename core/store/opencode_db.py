"""Read the SQLite database of OpenCode, yielding records in the format of OpenCode's JSON export."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

MAGIC = b"SQLite format 3\0"


def read_opencode_sessions(path: Path, since: int = 0) -> Iterator[dict[str, Any]]:
    """Yield a record with the `info` of each OpenCode session, parents first, then a record for each of its messages.

    Only sessions that changed at or after `since`, in milliseconds, are included. Raises ValueError if the schema or
    the contents are not as expected.
    """
    try:
        yield from _opencode(path, since)
    except sqlite3.Error as error:
        raise ValueError(str(error)) from error


def _opencode(path: Path, since: int) -> Iterator[dict[str, Any]]:
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
        db.row_factory = sqlite3.Row
        sessions = db.execute(
            "SELECT id, parent_id, directory, title, time_created FROM session"
            f" WHERE {_changed(db)} >= ? ORDER BY parent_id IS NOT NULL, time_created",
            (since,),
        ).fetchall()
        for row in sessions:
            yield {"info": {**dict(row), "parentID": row["parent_id"]}, "session": row["id"]}
            yield from _messages(db, row["id"])


def _changed(db: sqlite3.Connection) -> str:
    """Return the column that holds the time of the last change; older versions only have the creation time."""
    columns = {row[1] for row in db.execute("PRAGMA table_info(session)")}
    return "time_updated" if "time_updated" in columns else "time_created"


def is_opencode_db(path: Path) -> bool:
    """Return whether the file has OpenCode's tables."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            tables = {row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    except sqlite3.Error:
        return False
    return {"session", "message", "part", "project"} <= tables


def _messages(db: sqlite3.Connection, session: str) -> Iterator[dict[str, Any]]:
    rows = db.execute("SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id", (session,))
    for row in rows:
        parts = db.execute("SELECT data FROM part WHERE message_id = ? ORDER BY id", (row["id"],))
        info = {**json.loads(row["data"]), "id": row["id"]}
        yield {"session": session, "message": {"info": info, "parts": [json.loads(part["data"]) for part in parts]}}
