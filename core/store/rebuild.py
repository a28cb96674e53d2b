"""Rebuilds everything that is derived from events: session rows, steps, open requests and the full-text index."""

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

from core.domain.events import EventRecord, SessionCreated
from core.domain.sessions import SessionRow, fold_session
from core.domain.steps import Outline, Step, fold
from core.store.blobs import read_blob
from core.store.codec import decode_event, load_texts
from core.store.journal import update_pending_requests
from core.store.row_keys import key_range, offset_of, row_key, session_of
from core.store.row_mapping import insert_session, update_session, write_steps
from core.store.search import index_event
from core.store.skill_store import record_skill_use

PAGE_SIZE = 500
NO_NAMES: Mapping[int, str] = MappingProxyType({})


@dataclass(slots=True)
class RebuildResult:
    """What a rebuild found. `gaps` is the number of missing events, as gaps in the sequence numbers show."""

    sessions: int = 0
    events: int = 0
    gaps: int = 0


def rebuild(db: sqlite3.Connection, names: Mapping[int, str] = NO_NAMES) -> RebuildResult:
    """Rebuild within the caller's transaction.

    `names` maps session numbers to IDs, for sessions without their first event.
    """
    names = {**names, **dict(db.execute("SELECT number, id FROM session"))}
    for table in ("pending_request", "skill_use", "step", "session", "search_backlog"):
        db.execute(f"DELETE FROM {table}")
    db.execute("INSERT INTO event_search (event_search) VALUES ('delete-all')")
    result = RebuildResult()
    number = 0
    while first_event := db.execute(
        "SELECT id FROM event WHERE id > ? ORDER BY id LIMIT 1", (key_range(number)[1],)
    ).fetchone():
        number = session_of(first_event[0])
        _rebuild_session(db, number, names.get(number, ""), result)
    return result


def _rebuild_session(db: sqlite3.Connection, number: int, name: str, result: RebuildResult) -> None:
    outline = Outline()
    row: SessionRow | None = None
    unwritten: dict[int, Step] = {}
    for entry in _entries(db, number, name):
        if row is None:
            row = _insert_session_row(db, number, name, entry)
        result.gaps += entry.seq - row.last_seq - 1
        result.events += 1
        entry = replace(entry, session=row.id)
        changed_steps = fold(entry, outline)
        unwritten.update((step.row, step) for step in changed_steps)
        if len(unwritten) >= PAGE_SIZE:
            write_steps(db, number, unwritten.values())
            unwritten.clear()
        row = fold_session(row, entry, changed_steps, outline)
        if not row.imported_from:
            update_pending_requests(db, number, entry)
            record_skill_use(db, row_key(number, entry.seq), entry.event)
    if row is not None:
        write_steps(db, number, unwritten.values())
        update_session(db, number, row)
        result.sessions += 1


def _insert_session_row(db: sqlite3.Connection, number: int, name: str, entry: EventRecord) -> SessionRow:
    """Insert the row of a session. If its first event is lost, the title says so. An unknown ID becomes `lostNNNN`."""
    if isinstance(entry.event, SessionCreated):
        row = SessionRow(entry.event.session_id, created_at=entry.at)
    else:
        row = SessionRow(name or f"lost{number:04}", title="Recovered session (beginning lost)", created_at=entry.at)
    insert_session(db, row, number)
    return row


def _entries(db: sqlite3.Connection, number: int, name: str) -> Iterator[EventRecord]:
    """Yield the events of a session in order. Each is also added to the full-text index."""
    start, last = key_range(number)
    while True:
        page = db.execute(
            "SELECT id, run, at, kind, payload FROM event WHERE id > ? AND id <= ? ORDER BY id LIMIT ?",
            (start, last, PAGE_SIZE),
        ).fetchall()
        for key, run, at, kind, payload in page:
            event = decode_event(kind, payload)
            index_event(db, key, load_texts(event, partial(read_blob, db)))
            yield EventRecord(name, offset_of(key), run, at, event)
        if len(page) < PAGE_SIZE:
            return
        start = page[-1][0]
