"""Appends many events of one session at once, as an import does, with few statements and full-text indexing later."""

import sqlite3
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from core.domain.events import SessionEvent
from core.store.blobs import compress
from core.store.codec import encode_event, load_texts
from core.store.derived_rows import fold_event, write_rows
from core.store.journal_update import JournalUpdate
from core.store.row_keys import row_key
from core.store.search import indexed_text
from core.store.search_backlog import TextsInHand, add_to_backlog
from core.store.write_state import WriteState


class EventRow(NamedTuple):
    """A row of the event log."""

    key: int
    run: int
    at: int
    kind: str
    payload: str


class BulkEvent(NamedTuple):
    """An event that is ready to be written.

    In `event`, long texts are truncated to their heads. `words` is the text for the search index; None if a part of it
    is in a blob that is not in memory.
    """

    at: int
    event: SessionEvent
    kind: str
    payload: str
    words: str | None


class EventBatch(NamedTuple):
    """Consecutive events of one session, and the blobs that they refer to."""

    events: tuple[BulkEvent, ...]
    blobs: Mapping[str, bytes]


def encode_batch(events: Iterable[tuple[int, SessionEvent]], blobs: Mapping[str, bytes]) -> EventBatch:
    """Encode (time, event) pairs as a batch. Any thread may call this, because it needs no database.

    The blobs that the events need are added to `blobs`. They are compressed only when they are written.
    """
    encoded: list[BulkEvent] = []
    all_blobs = dict(blobs)
    for at, event in events:
        encoded_event = encode_event(event)
        all_blobs |= encoded_event.blobs
        # True for truncated texts, and for events that already referred to blobs.
        refers_to_blobs = '"blob"' in encoded_event.payload
        full_event = encoded_event.full_event
        words = _full_indexed_text(full_event, all_blobs) if refers_to_blobs else indexed_text(full_event)
        encoded.append(
            BulkEvent(
                at=at,
                event=encoded_event.stored_event,
                kind=encoded_event.kind,
                payload=encoded_event.payload,
                words=words,
            )
        )
    return EventBatch(tuple(encoded), all_blobs)


def _full_indexed_text(event: SessionEvent, blobs: Mapping[str, bytes]) -> str | None:
    """Return the text for the search index, with long texts from `blobs`; None if a part of it is not in `blobs`."""
    missing: list[str] = []

    def read(name: str) -> bytes | None:
        if name not in blobs:
            missing.append(name)
        return blobs.get(name)

    text = indexed_text(load_texts(event, read))
    return None if missing else text


def append_batch(
    db: sqlite3.Connection, state: WriteState, batch: EventBatch, unindexed_texts: TextsInHand
) -> JournalUpdate:
    """Append a batch and write its derived rows, in a transaction of the writing thread. Return one update for all.

    The full-text index is updated later; `unindexed_texts` receives the texts for it.
    """
    write_rows(db, state)
    first_key = row_key(state.number, state.row.last_seq + 1)
    bodies = [(name, len(body), compress(body)) for name, body in batch.blobs.items()]
    db.executemany("INSERT OR IGNORE INTO blob VALUES (?, ?, ?)", bodies)
    rows: list[EventRow] = []
    for bulk_event in batch.events:
        entry = state.next_entry(bulk_event.event, bulk_event.at)
        key = row_key(state.number, entry.seq)
        rows.append(EventRow(key, entry.run, entry.at, bulk_event.kind, bulk_event.payload))
        fold_event(state, entry, bulk_event.event)
        unindexed_texts.keep(key, bulk_event.words)
    db.executemany("INSERT INTO event VALUES (?, ?, ?, ?, ?)", rows)
    state.unindexed.clear()
    add_to_backlog(db, first_key, rows[-1].key)
    steps = write_rows(db, state)
    return JournalUpdate(entry, steps, state.row)
