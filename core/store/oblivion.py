"""Forget a session for good: its facts, its rows, what can be found of it, and contents that nobody else names."""

import asyncio
import re
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import partial
from pathlib import Path

from core.store.blobs import kept
from core.store.codec import decode, whole
from core.store.database import Database
from core.store.keys import key, span
from core.store.search import unindex
from core.store.unsearched import is_unsearched, leave_out

SLICE = 1000
NAMED = re.compile(r'"([0-9a-f]{64})"')


async def erase(database: Database, sessions: Iterable[str], forgotten: Callable[[str], None]) -> int:
    """Forget these sessions, in slices between which others write; how many contents went. A crash leaves the rest
    to the next call. `forgotten` is called on the writing thread before a session's first fact goes."""
    named: set[str] = set()
    for session in sessions:
        number = await database.do(partial(_begin, session=session, forgotten=forgotten))
        left = number > 0
        while left:
            found, left = await database.do(partial(_forget_slice, number=number))
            named |= found
    if not named:
        return 0
    spared, seen = await asyncio.to_thread(_look, database.path, named)
    return await database.do(lambda db: forget_contents(db, named - spared, seen))


def _begin(db: sqlite3.Connection, session: str, forgotten: Callable[[str], None]) -> int:
    forgotten(session)
    return number_of(db, session)


def _forget_slice(db: sqlite3.Connection, number: int) -> tuple[set[str], bool]:
    found = forget_some(db, number)
    left = holds_facts(db, number)
    if not left:
        forget_row(db, number)
    return found, left


def _look(path: Path, names: set[str]) -> tuple[set[str], dict[int, int]]:
    uri = f"{path.absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as db:
        return still_named(db, names)


def number_of(db: sqlite3.Connection, session: str) -> int:
    """0 where there is no such session."""
    row = db.execute("SELECT number FROM session WHERE id = ?", (session,)).fetchone()
    return int(row[0]) if row else 0


def forget_some(db: sqlite3.Connection, number: int) -> set[str]:
    """Forget the last facts, so many that nobody waits long; the contents they named."""
    rows = db.execute(
        "SELECT id, kind, payload FROM entry WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT ?", (*span(number), SLICE)
    ).fetchall()
    named: set[str] = set()
    for name, kind, payload in rows:
        if not is_unsearched(db, name):
            unindex(db, name, whole(decode(kind, payload), lambda blob: kept(db, blob)))
        named.update(NAMED.findall(payload))
    if rows:
        gone = (rows[-1][0], rows[0][0])
        leave_out(db, *gone)
        db.execute("DELETE FROM entry WHERE id BETWEEN ? AND ?", gone)
    return named


def holds_facts(db: sqlite3.Connection, number: int) -> bool:
    return db.execute("SELECT 1 FROM entry WHERE id BETWEEN ? AND ? LIMIT 1", span(number)).fetchone() is not None


def forget_row(db: sqlite3.Connection, number: int) -> None:
    """The last of it: its rows and its line in the list."""
    db.execute("DELETE FROM step WHERE id BETWEEN ? AND ?", span(number))
    db.execute("DELETE FROM question WHERE session = ?", (number,))
    db.execute("DELETE FROM skill_use WHERE entry BETWEEN ? AND ?", span(number))
    db.execute("DELETE FROM session WHERE number = ?", (number,))


def still_named(db: sqlite3.Connection, names: set[str]) -> tuple[set[str], dict[int, int]]:
    """Which of these contents some fact names, and up to where each session was looked through."""
    db.execute("BEGIN")
    try:
        seen: dict[int, int] = dict(db.execute("SELECT number, seq FROM session"))
        found: set[str] = set()
        for (payload,) in db.execute("SELECT payload FROM entry"):
            found.update(names.intersection(NAMED.findall(payload)))
        return found, seen
    finally:
        db.execute("COMMIT")


def forget_contents(db: sqlite3.Connection, names: set[str], seen: dict[int, int]) -> int:
    """Delete contents, except what facts name that came after the look, or what skills are made of; how many."""
    newer: set[str] = set()
    for number, seq in db.execute("SELECT number, seq FROM session").fetchall():
        if seq > seen.get(number, 0):
            since = (key(number, seen.get(number, 0)), span(number)[1])
            for (payload,) in db.execute("SELECT payload FROM entry WHERE id > ? AND id <= ?", since):
                newer.update(NAMED.findall(payload))
    for (files,) in db.execute("SELECT files FROM skill_version"):
        newer.update(NAMED.findall(files))
    gone = names - newer
    db.executemany("DELETE FROM blob WHERE hash = ?", [(name,) for name in gone])
    return len(gone)
