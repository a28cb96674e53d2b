"""Make everything that is folded from the journals again: session lines, rows, open questions, search."""

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from core.domain.events import Entry, SessionOpened
from core.domain.sessions import SessionRow, fold_session
from core.domain.steps import Outline, Step, fold
from core.store.blobs import kept
from core.store.codec import decode, whole
from core.store.journal import track_question
from core.store.keys import key, place, session_of, span
from core.store.rows import insert_session, update_session, write_steps
from core.store.search import index
from core.store.skills import track_skill

SLICE = 500
NO_NAMES: Mapping[int, str] = MappingProxyType({})


@dataclass(slots=True)
class Rebuilt:
    """What was folded. `gaps` counts the lines that are missing inside a journal or before its first."""

    sessions: int = 0
    facts: int = 0
    gaps: int = 0


def rebuild(db: sqlite3.Connection, names: Mapping[int, str] = NO_NAMES) -> Rebuilt:
    """In a transaction of the caller. `names` are the ids of sessions whose first line may be lost."""
    names = {**names, **dict(db.execute("SELECT number, id FROM session"))}
    for table in ("question", "skill_use", "step", "session", "unsearched"):
        db.execute(f"DELETE FROM {table}")
    db.execute("INSERT INTO search (search) VALUES ('delete-all')")
    done = Rebuilt()
    number = 0
    while found := db.execute("SELECT id FROM entry WHERE id > ? ORDER BY id LIMIT 1", (span(number)[1],)).fetchone():
        number = session_of(found[0])
        _rebuild_session(db, number, names.get(number, ""), done)
    return done


def _rebuild_session(db: sqlite3.Connection, number: int, name: str, done: Rebuilt) -> None:
    outline = Outline()
    row: SessionRow | None = None
    rows: dict[int, Step] = {}
    for entry in _entries(db, number, name):
        if row is None:
            row = _begin(db, number, name, entry)
        done.gaps += entry.seq - row.seq - 1
        done.facts += 1
        entry = replace(entry, session=row.id)
        changed = fold(entry, outline)
        rows.update((step.row, step) for step in changed)
        if len(rows) >= SLICE:
            write_steps(db, number, rows.values())
            rows.clear()
        row = fold_session(row, entry, changed, outline)
        if not row.source:
            track_question(db, number, entry)
            track_skill(db, key(number, entry.seq), entry.event)
    if row is not None:
        write_steps(db, number, rows.values())
        update_session(db, number, row)
        done.sessions += 1


def _begin(db: sqlite3.Connection, number: int, name: str, entry: Entry) -> SessionRow:
    """The line before the first fact. A session that lost its beginning gets a name and says so in its title."""
    if isinstance(entry.event, SessionOpened):
        row = SessionRow(entry.event.session_id, opened=entry.at)
    else:
        row = SessionRow(name or f"lost{number:04}", title="Session without its beginning", opened=entry.at)
    insert_session(db, row, number)
    return row


def _entries(db: sqlite3.Connection, number: int, name: str) -> Iterator[Entry]:
    """The facts in order, each made findable on its way."""
    start, last = span(number)
    while True:
        page = db.execute(
            "SELECT id, run, at, kind, payload FROM entry WHERE id > ? AND id <= ? ORDER BY id LIMIT ?",
            (start, last, SLICE),
        ).fetchall()
        for entry, run, at, kind, payload in page:
            event = decode(kind, payload)
            index(db, entry, whole(event, lambda blob: kept(db, blob)))
            yield Entry(name, place(entry), run, at, event)
        if len(page) < SLICE:
            return
        start = page[-1][0]
