"""Reads the SQLite database of Hermes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.store.foreign_db import has_columns, open_foreign_db


def is_hermes_db(path: Path) -> bool:
    messages = {"session_id", "role", "content", "tool_calls", "timestamp"}
    return has_columns(path, {"messages": messages, "sessions": {"id", "source", "started_at"}})


def read_hermes_sessions(path: Path, since: float = 0.0) -> Iterator[dict[str, Any]]:
    """Yield each session as a dictionary, parents first, with its `messages`.

    Only sessions with a message at or after `since`, in seconds since 1970, are included.
    """
    with open_foreign_db(path) as db:
        sessions = db.execute(
            "SELECT * FROM sessions WHERE id IN (SELECT session_id FROM messages WHERE timestamp >= ?)"
            " ORDER BY parent_session_id IS NOT NULL, started_at",
            (since,),
        ).fetchall()
        for row in sessions:
            messages = db.execute("SELECT * FROM messages WHERE session_id = ? ORDER BY id", (row["id"],))
            yield {**dict(row), "messages": [dict(message) for message in messages]}
