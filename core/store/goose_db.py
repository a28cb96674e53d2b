"""Reads the SQLite database of Goose."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.store.foreign_db import column_names, has_columns, open_foreign_db


def is_goose_db(path: Path) -> bool:
    return has_columns(path, {"messages": {"session_id", "role", "content_json", "created_timestamp"}})


def read_goose_sessions(path: Path, since: str = "") -> Iterator[dict[str, Any]]:
    """Yield each session as a dictionary, parents first, with its `messages` and its `requests` to models.

    Only sessions updated at or after `since`, a time in UTC such as 2026-01-31 08:00:00, are included.
    """
    with open_foreign_db(path) as db:
        parent = "parent_session_id IS NOT NULL," if "parent_session_id" in column_names(db, "sessions") else ""
        sessions = db.execute(
            f"SELECT * FROM sessions WHERE updated_at >= ? ORDER BY {parent} created_at, id", (since,)
        ).fetchall()
        has_ledger = bool(column_names(db, "usage_ledger"))
        for row in sessions:
            messages = db.execute("SELECT * FROM messages WHERE session_id = ? ORDER BY id", (row["id"],))
            yield {
                **dict(row),
                "messages": [dict(message) for message in messages],
                "requests": _requests(db, row["id"]) if has_ledger else [],
            }


def _requests(db: sqlite3.Connection, session: str) -> list[dict[str, Any]]:
    rows = db.execute("SELECT * FROM usage_ledger WHERE session_id = ? ORDER BY id", (session,))
    return [dict(row) for row in rows]
