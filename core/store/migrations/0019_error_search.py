"""Adds the errors of runs and of model requests to the full-text index."""

import json
import sqlite3
from typing import Any

from core.store.blobs import read_blob

MAX_INDEXED = 262_144  # characters of a text that are indexed


def run(db: sqlite3.Connection) -> None:
    """Remove events with an error from the index, and add them to the backlog, so that they are indexed again."""
    backlog = db.execute("SELECT first_event, last_event FROM search_backlog").fetchall()
    rows = db.execute(
        "SELECT id, payload FROM event WHERE kind IN ('run_paused', 'run_ended', 'request_retried')"
        " AND payload LIKE '%\"error\"%'"
    )
    for key, payload in rows.fetchall():
        event = json.loads(payload)
        if not event.get("error") or any(first <= key <= last for first, last in backlog):
            continue
        if text := _indexed_text(db, event):
            db.execute("INSERT INTO event_search (event_search, rowid, words) VALUES ('delete', ?, ?)", (key, text))
        db.execute("INSERT INTO search_backlog VALUES (?, ?)", (key, key))


def _indexed_text(db: sqlite3.Connection, event: dict[str, Any]) -> str:
    """Return the text that the index has for an event: the reason and summary of a run that ended, else nothing."""
    if "status" not in event:
        return ""
    summary = event.get("summary", {})
    body = read_blob(db, summary["blob"]) if summary.get("blob") else None
    text = summary.get("head", "") if body is None else body.decode("utf-8", "replace")
    return "\n".join(part[:MAX_INDEXED] for part in (event.get("reason", ""), text) if part)
