"""Fast reads of parts of a session: evenly spaced timeline rows, ranges of rows, and events of selected kinds."""

import json
import sqlite3
from collections.abc import Iterable
from typing import Any, NamedTuple

from core.store.row_keys import key_range, offset_of, row_key

MAX_ROWS_BEFORE = 400  # rows before the event in which `find_row` looks for a row that the event closed

_COLUMNS = "id, kind, status, started_at, ended_at, depth"


class RowSample(NamedTuple):
    """The columns of a timeline row that the overview chart needs."""

    row: int
    kind: str
    status: str
    started_at: int
    ended_at: int
    depth: int


def sample_rows(db: sqlite3.Connection, session: int, count: int, limit: int) -> list[RowSample]:
    """Return at most `limit` rows out of the first `count`, evenly spaced, with the first and the last of them.

    The time depends only on `limit`, not on the length of the session.
    """
    if count <= limit:
        return read_rows(db, session, 0, count)
    positions = sorted({round(index * (count - 1) / (limit - 1)) for index in range(limit)})
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM step WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id",
        (json.dumps([row_key(session, row) for row in positions]),),
    )
    return _samples(rows)


def read_rows(db: sqlite3.Connection, session: int, first: int, count: int) -> list[RowSample]:
    """Return `count` rows from the row `first` on."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM step WHERE id BETWEEN ? AND ? ORDER BY id",
        (row_key(session, first), row_key(session, first + count - 1)),
    )
    return _samples(rows)


def read_events(
    db: sqlite3.Connection, session: int, kinds: Iterable[str], after: int, until: int, limit: int
) -> list[dict[str, Any]]:
    """Return at most `limit` events of these kinds with `after` < sequence number <= `until`, as dictionaries."""
    rows = db.execute(
        "SELECT id, run, at, kind, payload FROM event WHERE id > ? AND id <= ?"
        " AND kind IN (SELECT value FROM json_each(?)) ORDER BY id LIMIT ?",
        (row_key(session, after), row_key(session, until), json.dumps(list(kinds)), limit),
    )
    return [
        {"seq": offset_of(key), "run": run, "at": at, "kind": kind, **json.loads(payload)}
        for key, run, at, kind, payload in rows
    ]


def read_last_event(db: sqlite3.Connection, session: int, kind: str) -> dict[str, Any] | None:
    """Return the payload of the last event of this kind, or None. The search starts at the end of the session."""
    row = db.execute(
        "SELECT payload FROM event WHERE id BETWEEN ? AND ? AND kind = ? ORDER BY id DESC LIMIT 1",
        (*key_range(session), kind),
    ).fetchone()
    return dict(json.loads(row[0])) if row else None


def find_row(db: sqlite3.Connection, session: int, seq: int) -> int | None:
    """Return the row that an event opened or closed, else the nearest row before the event; None if there are no rows.

    A reply closes a row of reasoning and opens a row with its text. The row that it opens is returned.
    """
    start, end = key_range(session)
    last = db.execute("SELECT max(id) FROM step WHERE id BETWEEN ? AND ?", (start, end)).fetchone()[0]
    if last is None:
        return None
    low, high = start, last
    while low < high:  # a binary search: rows are ordered by the events that opened them
        middle = (low + high + 1) // 2
        opened = db.execute("SELECT first_seq FROM step WHERE id = ?", (middle,)).fetchone()
        if opened is None or opened[0] > seq:
            high = middle - 1
        else:
            low = middle
    closed = db.execute(
        "SELECT id FROM step WHERE id BETWEEN ? AND ? AND last_seq = ? AND kind <> 'run'"
        " ORDER BY kind = 'reply' DESC, id LIMIT 1",
        (max(start, low - MAX_ROWS_BEFORE), low, seq),
    ).fetchone()
    return offset_of(closed[0] if closed else low)


def _samples(rows: Iterable[tuple[Any, ...]]) -> list[RowSample]:
    return [RowSample(offset_of(key), *columns) for key, *columns in rows]
