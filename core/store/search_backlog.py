"""The backlog of events that are not in the full-text index yet. It is indexed in slices."""

import sqlite3
from contextlib import suppress
from functools import partial

from core.store.blobs import read_blob
from core.store.codec import decode_event, load_texts
from core.store.search import index_text, indexed_text

MAX_SLICE_EVENTS = 1_000
MAX_SLICE_CHARACTERS = 2 << 20  # a slice ends after this many characters
MAX_IN_HAND = 48 << 20  # characters of texts kept in memory until they are indexed


class TextsInHand:
    """The texts of events in the backlog that are kept in memory. Other texts are read from the event log.

    Used on the writing thread only.
    """

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}
        self._characters = 0

    def keep(self, key: int, text: str | None) -> None:
        """Keep the text of an event until it is indexed, unless it is None or there is no room."""
        if text is not None and self._characters + len(text) <= MAX_IN_HAND:
            self._texts[key] = text
            self._characters += len(text)

    def take(self, key: int) -> str | None:
        """Remove and return the text of an event; None if it is not kept."""
        text = self._texts.pop(key, None)
        self._characters -= len(text or "")
        return text

    def clear(self) -> None:
        """Remove all texts."""
        self._texts.clear()
        self._characters = 0


def add_to_backlog(db: sqlite3.Connection, first: int, last: int) -> None:
    """Add the events with keys from `first` to `last` to the backlog."""
    if not db.execute("UPDATE search_backlog SET last_event = ? WHERE last_event = ?", (last, first - 1)).rowcount:
        db.execute("INSERT INTO search_backlog VALUES (?, ?)", (first, last))


def is_in_backlog(db: sqlite3.Connection, key: int) -> bool:
    row = db.execute(
        "SELECT last_event FROM search_backlog WHERE first_event <= ? ORDER BY first_event DESC LIMIT 1", (key,)
    ).fetchone()
    return row is not None and key <= row[0]


def index_slice(db: sqlite3.Connection, texts: TextsInHand) -> bool:
    """Index one slice of the backlog, newest session first. Return false if the backlog was empty."""
    newest = db.execute(
        "SELECT first_event, last_event FROM search_backlog ORDER BY first_event DESC LIMIT 1"
    ).fetchone()
    if newest is None:
        texts.clear()  # the remaining texts belong to sessions that were purged
        return False
    first, last = newest
    keys = db.execute(
        "SELECT id FROM event WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?", (first, last, MAX_SLICE_EVENTS)
    )
    key = last
    characters = 0
    for (key,) in keys.fetchall():
        text = texts.take(key)
        if text is None:
            text = _stored_text(db, key)
        index_text(db, key, text)
        characters += len(text)
        if characters >= MAX_SLICE_CHARACTERS:
            break
    if key < last:
        db.execute("UPDATE search_backlog SET first_event = ? WHERE first_event = ?", (key + 1, first))
    else:
        db.execute("DELETE FROM search_backlog WHERE first_event = ?", (first,))
    return True


def _stored_text(db: sqlite3.Connection, key: int) -> str:
    """Return the text to index for an event, read from the event log; empty if the event is damaged."""
    kind, payload = db.execute("SELECT kind, payload FROM event WHERE id = ?", (key,)).fetchone()
    with suppress(ValueError, KeyError):
        return indexed_text(load_texts(decode_event(kind, payload), partial(read_blob, db)))
    return ""


def remove_from_backlog(db: sqlite3.Connection, first: int, last: int) -> None:
    """Remove deleted events from the backlog. Their keys must be the last ones of their session."""
    db.execute("DELETE FROM search_backlog WHERE first_event BETWEEN ? AND ?", (first, last))
    db.execute("UPDATE search_backlog SET last_event = ? WHERE last_event BETWEEN ? AND ?", (first - 1, first, last))
