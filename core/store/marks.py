"""A session seen from far away: a bounded sample of its rows, its rows by stretches, and its lines of some kinds."""

import json
import sqlite3
from collections.abc import Iterable
from typing import Any, NamedTuple

from core.store.keys import key, place, span

NEAR = 400  # rows in which the row of an entry is found, once its neighbourhood is known

_COLUMNS = "id, kind, status, began, ended, depth"


class Mark(NamedTuple):
    """As much of a row as a small picture needs."""

    row: int
    kind: str
    status: str
    began: int
    ended: int
    depth: int


def sample(db: sqlite3.Connection, session: int, count: int, most: int) -> list[Mark]:
    """At most `most` of the first `count` rows, evenly spread, first and last among them: as quick for a million."""
    if count <= most:
        return stretch(db, session, 0, count)
    wanted = sorted({round(n * (count - 1) / (most - 1)) for n in range(most)})
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM step WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id",
        (json.dumps([key(session, row) for row in wanted]),),
    )
    return _marks(rows)


def stretch(db: sqlite3.Connection, session: int, first: int, count: int) -> list[Mark]:
    """Every row from `first` on."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM step WHERE id BETWEEN ? AND ? ORDER BY id",
        (key(session, first), key(session, first + count - 1)),
    )
    return _marks(rows)


def lines(
    db: sqlite3.Connection, session: int, kinds: Iterable[str], after: int, until: int, most: int
) -> list[dict[str, Any]]:
    """The first `most` lines of these kinds as plain JSON, between two places of a journal."""
    rows = db.execute(
        "SELECT id, run, at, kind, payload FROM entry WHERE id > ? AND id <= ?"
        " AND kind IN (SELECT value FROM json_each(?)) ORDER BY id LIMIT ?",
        (key(session, after), key(session, until), json.dumps(list(kinds)), most),
    )
    return [{"seq": place(row[0]), "run": row[1], "at": row[2], "kind": row[3], **json.loads(row[4])} for row in rows]


def last_line(db: sqlite3.Connection, session: int, kind: str) -> dict[str, Any] | None:
    """The last line of this kind as plain JSON. Looked for from the end."""
    row = db.execute(
        "SELECT payload FROM entry WHERE id BETWEEN ? AND ? AND kind = ? ORDER BY id DESC LIMIT 1",
        (*span(session), kind),
    ).fetchone()
    return dict(json.loads(row[0])) if row else None


def row_of(db: sqlite3.Connection, session: int, seq: int) -> int | None:
    """The row that an entry opened or changed; the nearest before it where it changed none."""
    start, end = span(session)
    last = db.execute("SELECT max(id) FROM step WHERE id BETWEEN ? AND ?", (start, end)).fetchone()[0]
    if last is None:
        return None
    low, high = start, last
    while low < high:  # rows stand in the order of the entries that opened them
        middle = (low + high + 1) // 2
        opened = db.execute("SELECT first FROM step WHERE id = ?", (middle,)).fetchone()
        if opened is None or opened[0] > seq:
            high = middle - 1
        else:
            low = middle
    closed = db.execute(
        "SELECT id FROM step WHERE id BETWEEN ? AND ? AND last = ? AND kind <> 'run' ORDER BY id LIMIT 1",
        (max(start, low - NEAR), low, seq),
    ).fetchone()
    return place(closed[0] if closed else low)


def _marks(rows: Iterable[tuple[Any, ...]]) -> list[Mark]:
    return [Mark(place(row[0]), *row[1:]) for row in rows]
