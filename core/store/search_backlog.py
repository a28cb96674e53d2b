"""The backlog of events that are not in the full-text index yet. They are indexed one slice at a time."""

import sqlite3
from contextlib import suppress
from functools import partial

from core.store.blobs import read_blob
from core.store.codec import decode_event, load_texts
from core.store.search import index_event

SLICE = 200  # events
SLICE_CHARACTERS = 1 << 19  # characters after which a slice ends


def add_to_backlog(db: sqlite3.Connection, first: int, last: int) -> None:
    """Add a range of keys to the backlog."""
    if not db.execute("UPDATE search_backlog SET last_event = ? WHERE last_event = ?", (last, first - 1)).rowcount:
        db.execute("INSERT INTO search_backlog VALUES (?, ?)", (first, last))


def is_in_backlog(db: sqlite3.Connection, key: int) -> bool:
    row = db.execute(
        "SELECT last_event FROM search_backlog WHERE first_event <= ? ORDER BY first_event DESC LIMIT 1", (key,)
    ).fetchone()
    return row is not None and key <= row[0]


def index_slice(db: sqlite3.Connection) -> bool:
    """Index one slice of the backlog, newest session first. Return false if the backlog was empty."""
    range_ = db.execute(
        "SELECT first_event, last_event FROM search_backlog ORDER BY first_event DESC LIMIT 1"
    ).fetchone()
    if range_ is None:
        return False
    first, last = range_
    rows = db.execute(
        "SELECT id, kind, payload FROM event WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?", (first, last, SLICE)
    ).fetchall()
    characters = 0
    for key, kind, payload in rows:
        with suppress(ValueError, KeyError):  # A damaged event is skipped.
            characters += index_event(db, key, load_texts(decode_event(kind, payload), partial(read_blob, db)))
        if characters >= SLICE_CHARACTERS:
            break
    if rows and key < last:
        db.execute("UPDATE search_backlog SET first_event = ? WHERE first_event = ?", (key + 1, first))
    else:
        db.execute("DELETE FROM search_backlog WHERE first_event = ?", (first,))
    return True


def remove_from_backlog(db: sqlite3.Connection, first: int, last: int) -> None:
    """Remove a range of deleted keys from the backlog. They must be the last keys of their session."""
    db.execute("DELETE FROM search_backlog WHERE first_event BETWEEN ? AND ?", (first, last))
    db.execute("UPDATE search_backlog SET last_event = ? WHERE last_event BETWEEN ? AND ?", (first - 1, first, last))
