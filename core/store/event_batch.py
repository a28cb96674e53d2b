"""Append many events of one session at once, as an import does: with few statements, and indexed for search later."""

import sqlite3
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from core.domain.events import SessionEvent
from core.domain.sessions import fold_session
from core.domain.steps import Step, fold
from core.store.blobs import compress
from core.store.codec import encode_event
from core.store.journal_update import JournalUpdate
from core.store.row_keys import row_key
from core.store.row_mapping import update_session, write_steps
from core.store.search_backlog import add_to_backlog
from core.store.write_state import WriteState


class BulkEvent(NamedTuple):
    """An event ready to be written. In `event`, long texts are truncated to their heads."""

    at: int
    event: SessionEvent
    kind: str
    payload: str


class EventBatch(NamedTuple):
    """Consecutive events of one session, and the blobs that they refer to."""

    events: tuple[BulkEvent, ...]
    blobs: Mapping[str, bytes]


def encode_batch(events: Iterable[tuple[int, SessionEvent]], blobs: Mapping[str, bytes]) -> EventBatch:
    """Encode (time, event) pairs, adding the blobs they need to `blobs`, which are compressed only when written.

    This needs no database, so any thread may call it.
    """
    encoded: list[BulkEvent] = []
    all_blobs = dict(blobs)
    for at, event in events:
        packed = encode_event(event)
        all_blobs |= packed.blobs
        encoded.append(BulkEvent(at, packed.stored_event, packed.kind, packed.payload))
    return EventBatch(tuple(encoded), all_blobs)


def append_batch(db: sqlite3.Connection, state: WriteState, batch: EventBatch) -> JournalUpdate:
    """Append a batch within a transaction of the writing thread. Return one update for the whole batch."""
    number, first = state.number, state.row.last_seq + 1
    bodies = [(name, len(body), compress(body)) for name, body in batch.blobs.items()]
    db.executemany("INSERT OR IGNORE INTO blob VALUES (?, ?, ?)", bodies)
    rows: list[tuple[int, int, int, str, str]] = []
    changed: dict[int, Step] = {}
    for at, event, kind, payload in batch.events:
        entry = state.next_entry(event, at)
        rows.append((row_key(number, entry.seq), entry.run, entry.at, kind, payload))
        steps = fold(entry, state.outline)
        for step in steps:
            changed[step.row] = step
        state.row = fold_session(state.row, entry, steps, state.outline)
    db.executemany("INSERT INTO event VALUES (?, ?, ?, ?, ?)", rows)
    ordered = [changed[row] for row in sorted(changed)]
    write_steps(db, number, ordered)
    update_session(db, number, state.row)
    add_to_backlog(db, row_key(number, first), rows[-1][0])
    return JournalUpdate(entry, ordered, state.row)
