"""Permanently deletes sessions: events, steps, search terms, and the blobs that nothing else refers to."""

import asyncio
import re
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NamedTuple

from core.store.blobs import read_blob
from core.store.codec import decode_event, load_texts
from core.store.database import Database
from core.store.row_keys import key_range, row_key
from core.store.search import unindex_event
from core.store.search_backlog import is_in_backlog, remove_from_backlog

SLICE_SIZE = 1000  # events
BLOB_HASH = re.compile(r'"([0-9a-f]{64})"')


PreparePurge = Callable[[sqlite3.Connection, str], None]


class _PurgedSlice(NamedTuple):
    """The blobs that the deleted events referred to, and whether the session has more events to delete."""

    blobs: set[str]
    has_more: bool


class _References(NamedTuple):
    """The blobs that events refer to, and the last sequence number that was searched, by session number."""

    blobs: set[str]
    last_seqs: dict[int, int]


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
            purged = await database.run(partial(_purge_slice, number=number))
            candidates |= purged.blobs
            has_more = purged.has_more
    if not candidates:
        return 0
    references = await asyncio.to_thread(_find_references, database.path, candidates)

    def delete(db: sqlite3.Connection) -> int:
        database.derived.write(db)  # `last_seq` must be current, so that no event that refers to a blob is overlooked
        return delete_unreferenced_blobs(db, candidates - references.blobs, references.last_seqs)

    return await database.run(delete)


def _begin(db: sqlite3.Connection, session: str, prepare: PreparePurge) -> int:
    """Prepare the purge of a session. Return the number under which it is stored, or 0 if it does not exist."""
    prepare(db, session)
    return session_number(db, session)


def _purge_slice(db: sqlite3.Connection, number: int) -> _PurgedSlice:
    blobs = delete_last_events(db, number)
    has_more = has_events(db, number)
    if not has_more:
        delete_session_rows(db, number)
    return _PurgedSlice(blobs, has_more)


def _find_references(path: Path, names: set[str]) -> _References:
    uri = f"{path.absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as db:
        return find_references(db, names)


def delete_session(db: sqlite3.Connection, session: str) -> None:
    """Delete a session, but not its blobs, within a transaction. The caller has called `prepare` for the session."""
    if number := session_number(db, session):
        while _purge_slice(db, number).has_more:
            pass


def session_number(db: sqlite3.Connection, session: str) -> int:
    """Return the number under which a session is stored, or 0 if it does not exist."""
    row = db.execute("SELECT number FROM session WHERE id = ?", (session,)).fetchone()
    return int(row[0]) if row else 0


def delete_last_events(db: sqlite3.Connection, number: int) -> set[str]:
    """Delete the last SLICE_SIZE events of a session. Return the hashes of the blobs they referred to."""
    rows = db.execute(
        "SELECT id, kind, payload FROM event WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT ?",
        (*key_range(number), SLICE_SIZE),
    ).fetchall()
    blobs: set[str] = set()
    for key, kind, payload in rows:
        if not is_in_backlog(db, key):
            unindex_event(db, key, load_texts(decode_event(kind, payload), lambda blob: read_blob(db, blob)))
        blobs.update(BLOB_HASH.findall(payload))
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


def find_references(db: sqlite3.Connection, names: set[str]) -> _References:
    """Return which of the blobs events refer to."""
    db.execute("BEGIN")
    try:
        last_seqs: dict[int, int] = dict(db.execute("SELECT number, last_seq FROM session"))
        referenced: set[str] = set()
        for (payload,) in db.execute("SELECT payload FROM event"):
            referenced.update(names.intersection(BLOB_HASH.findall(payload)))
        return _References(referenced, last_seqs)
    finally:
        db.execute("COMMIT")


def delete_unreferenced_blobs(db: sqlite3.Connection, names: set[str], last_seqs: dict[int, int]) -> int:
    """Delete blobs, and return how many were deleted.

    A blob is kept if a skill version refers to it, or an event that is newer than the number in `last_seqs` for its
    session.
    """
    referenced: set[str] = set()
    for number, seq in db.execute("SELECT number, last_seq FROM session").fetchall():
        searched_until = last_seqs.get(number, 0)
        if seq > searched_until:
            newer = (row_key(number, searched_until), key_range(number)[1])
            for (payload,) in db.execute("SELECT payload FROM event WHERE id > ? AND id <= ?", newer):
                referenced.update(BLOB_HASH.findall(payload))
    for (files,) in db.execute("SELECT files FROM skill_version"):
        referenced.update(BLOB_HASH.findall(files))
    unreferenced = names - referenced
    db.executemany("DELETE FROM blob WHERE hash = ?", [(name,) for name in unreferenced])
    return len(unreferenced)
