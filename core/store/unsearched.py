"""Which facts cannot be found by their words yet, and how they become findable: a slice at a time."""

import sqlite3
from contextlib import suppress
from functools import partial

from core.store.blobs import kept
from core.store.codec import decode, whole
from core.store.search import index

SLICE = 200  # facts
WORDS = 1 << 19  # characters of a slice


def find_later(db: sqlite3.Connection, first: int, last: int) -> None:
    """These keys are not findable yet."""
    if not db.execute("UPDATE unsearched SET last = ? WHERE last = ?", (last, first - 1)).rowcount:
        db.execute("INSERT INTO unsearched VALUES (?, ?)", (first, last))


def is_unsearched(db: sqlite3.Connection, key: int) -> bool:
    found = db.execute("SELECT last FROM unsearched WHERE first <= ? ORDER BY first DESC LIMIT 1", (key,)).fetchone()
    return found is not None and key <= found[0]


def index_some(db: sqlite3.Connection) -> bool:
    """Make a slice findable, the newest session first; whether anything is left."""
    range_ = db.execute("SELECT first, last FROM unsearched ORDER BY first DESC LIMIT 1").fetchone()
    if range_ is None:
        return False
    first, last = range_
    rows = db.execute(
        "SELECT id, kind, payload FROM entry WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?", (first, last, SLICE)
    ).fetchall()
    said = 0
    for name, kind, payload in rows:
        with suppress(ValueError, KeyError):  # a damaged line has no words; the others have
            said += index(db, name, whole(decode(kind, payload), partial(kept, db)))
        if said >= WORDS:
            break
    if rows and name < last:
        db.execute("UPDATE unsearched SET first = ? WHERE first = ?", (name + 1, first))
    else:
        db.execute("DELETE FROM unsearched WHERE first = ?", (first,))
    return True


def leave_out(db: sqlite3.Connection, first: int, last: int) -> None:
    """These keys are gone, the last ones of their session."""
    db.execute("DELETE FROM unsearched WHERE first BETWEEN ? AND ?", (first, last))
    db.execute("UPDATE unsearched SET last = ? WHERE last BETWEEN ? AND ?", (first - 1, first, last))
