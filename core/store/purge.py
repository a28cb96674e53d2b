"""Permanently deletes sessions: events, steps, search terms, and the blobs that nothing else refers to."""

import asyncio
import re
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import partial
from pathlib import Path

from core.store.blobs import read_blob
from core.store.codec import decode_event, load_texts
from core.store.database import Database
from core.store.row_keys import key_range, row_key
from core.store.search import unindex_event
from core.store.search_backlog import is_in_backlog, remove_from_backlog

SLICE = 1000
NAMED = re.compile(r'"([0-9a-f]{64})"')


PreparePurge = Callable[[sqlite3.Connection, str], None]


async def purge_sessions(database: Database, sessions: Iterable[str], prepare: PreparePurge) -> int:
    """Purge sessions in slices, so that other writers wait only briefly. Return the number of deleted blobs.

    If a crash interrupts this, purging the same sessions again completes it. `prepare` is called on the writing thread
    with the ID of a session before its first event is deleted. It writes the session's derived rows, so that they can
    be deleted too.
    """
    candidates: set[str] = set()
    for session in sessions:
        number = await database.run(partial(_begin, session=session, prepare=prepare))
        has_more = number > 0
        while has_more:
            blobs, has_more = await database.run(partial(_purge_slice, number=number))
            candidates |= blobs
    if not candidates:
        return 0
    referenced, last_seqs = await asyncio.to_thread(_find_referenced, database.path, candidates)

    def delete(db: sqlite3.Connection) -> int:
        database.derived.write(db)  # `last_seq` must be current, so that no event that refers to a blob is overlooked
        return delete_unreferenced_blobs(db, candidates - referenced, last_seqs)

    return await database.run(delete)


def _begin(db: sqlite3.Connection, session: str, prepare: PreparePurge) -> int:
    prepare(db, session)
    return session_number(db, session)


def _purge_slice(db: sqlite3.Connection, number: int) -> tuple[set[str], bool]:
    blobs = delete_last_events(db, number)
    has_more = has_events(db, number)
    if not has_more:
        delete_session_rows(db, number)
    return blobs, has_more


def _find_referenced(path: Path, names: set[str]) -> tuple[set[str], dict[int, int]]:
    uri = f"{path.absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as db:
        return find_referenced_blobs(db, names)


def delete_session(db: sqlite3.Connection, session: str) -> None:
    """Delete a session, but not its blobs, within a transaction. The caller has called `prepare` for the session."""
    if number := session_number(db, session):
        has_more = True
        while has_more:
            _, has_more = _purge_slice(db, number)


def session_number(db: sqlite3.Connection, session: str) -> int:
    """Return the number under which a session is stored, or 0 if it does not exist."""
    row = db.execute("SELECT number FROM session WHERE id = ?", (session,)).fetchone()
    return int(row[0]) if row else 0


def delete_last_events(db: sqlite3.Connection, number: int) -> set[str]:
    """Delete the last SLICE events of a session. Return the hashes of the blobs they referred to."""
    rows = db.execute(
        "SELECT id, kind, payload FROM event WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT ?",
        (*key_range(number), SLICE),
    ).fetchall()
    blobs: set[str] = set()
    for key, kind, payload in rows:
        if not is_in_backlog(db, key):
            unindex_event(db, key, load_texts(decode_event(kind, payload), lambda blob: read_blob(db, blob)))
        blobs.update(NAMED.findall(payload))
    if rows:
        deleted_range = (rows[-1][0], rows[0][0])
        remove_from_backlog(db, *deleted_range)
        db.execute("DELETE FROM event WHERE id BETWEEN ? AND ?", deleted_range)
    return blobs


def has_events(db: sqlite3.Connection, number: int) -> bool:
    return db.execute("SELECT 1 FROM event WHERE id BETWEEN ? AND ? LIMIT 1", key_range(number)).fetchone() is not None


def delete_session_rows(db: sqlite3.Connection, number: int) -> None:
    """Delete what remains of a session after its events: steps, open requests, skill uses and its row."""
    db.execute("DELETE FROM step WHERE id BETWEEN ? AND ?", key_range(number))
    db.execute("DELETE FROM pending_request WHERE session = ?", (number,))
    db.execute("DELETE FROM skill_use WHERE event BETWEEN ? AND ?", key_range(number))
    db.execute("DELETE FROM session WHERE number = ?", (number,))


def find_referenced_blobs(db: sqlite3.Connection, names: set[str]) -> tuple[set[str], dict[int, int]]:
    """Return which of the blobs events refer to, and the last sequence number searched, by session number."""
    db.execute("BEGIN")
    try:
        last_seqs: dict[int, int] = dict(db.execute("SELECT number, last_seq FROM session"))
        referenced: set[str] = set()
        for (payload,) in db.execute("SELECT payload FROM event"):
            referenced.update(names.intersection(NAMED.findall(payload)))
        return referenced, last_seqs
    finally:
        db.execute("COMMIT")


def delete_unreferenced_blobs(db: sqlite3.Connection, names: set[str], last_seqs: dict[int, int]) -> int:
    """Delete blobs, and return how many were deleted.

    A blob is kept if a skill version refers to it, or an event that is newer than the number in `last_seqs` for its
    session.
    """
    referenced: set[str] = set()
    for number, seq in db.execute("SELECT number, last_seq FROM session").fetchall():
        if seq > last_seqs.get(number, 0):
            since = (row_key(number, last_seqs.get(number, 0)), key_range(number)[1])
            for (payload,) in db.execute("SELECT payload FROM event WHERE id > ? AND id <= ?", since):
                referenced.update(NAMED.findall(payload))
    for (files,) in db.execute("SELECT files FROM skill_version"):
        referenced.update(NAMED.findall(files))
    unreferenced = names - referenced
    db.executemany("DELETE FROM blob WHERE hash = ?", [(name,) for name in unreferenced])
    return len(unreferenced)
