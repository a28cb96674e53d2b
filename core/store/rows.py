"""Steps and session lines as rows of the file, and back. No pydantic: the window reads them before anything heavy."""

import json
import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

from core.domain.sessions import SessionRow
from core.domain.steps import Step
from core.store.keys import key, place

SESSION_COLUMNS = ", ".join(SessionRow._fields)
STEP_COLUMNS = "id, number, kind, key, status, object, began, ended, run, depth, tokens, cost, marks, first, last"

_UPDATE_SESSION = "UPDATE session SET " + ", ".join(f"{name} = ?" for name in SessionRow._fields[1:])


def write_steps(db: sqlite3.Connection, session: int, steps: Iterable[Step]) -> None:
    """Insert or replace rows; a step's key never changes."""
    db.executemany(
        f"INSERT INTO step ({STEP_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, status = excluded.status, object = excluded.object,"
        " ended = excluded.ended, tokens = excluded.tokens, cost = excluded.cost, marks = excluded.marks,"
        " last = excluded.last",
        [
            (
                key(session, s.row), s.number, s.kind, s.key, s.status, s.object, s.began, s.ended, s.run, s.depth,
                s.tokens, s.cost, _packed(s.marks), s.first, s.last,
            )
            for s in steps
        ],
    )  # fmt: skip


def _packed(marks: Mapping[str, int]) -> str:
    """As JSON. The names are plain words of ours, and this is written with every fact."""
    figures = ",".join([f'"{name}":{amount}' for name, amount in marks.items()])
    return f"{{{figures}}}" if figures else ""


def read_step(row: tuple[Any, ...]) -> Step:
    """A row in the order of STEP_COLUMNS."""
    number, kind, name, status, what, began, ended, run, depth, tokens, cost, marks, first, last = row[1:]
    return Step(
        place(row[0]), kind, status, began, number, name, what, ended, run, depth, tokens, cost,
        json.loads(marks) if marks else {}, first, last,
    )  # fmt: skip


def insert_session(db: sqlite3.Connection, row: SessionRow, number: int | None = None) -> int:
    """A new line in the list; its number, the next one unless given."""
    places = ", ".join("?" for _ in row)
    cursor = db.execute(f"INSERT INTO session (number, {SESSION_COLUMNS}) VALUES (?, {places})", (number, *row))
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def update_session(db: sqlite3.Connection, number: int, row: SessionRow) -> None:
    """The line as the last fact left it."""
    db.execute(f"{_UPDATE_SESSION} WHERE number = ?", (*row[1:], number))


def read_session(row: tuple[Any, ...]) -> SessionRow:
    """A row in the order of SESSION_COLUMNS."""
    return SessionRow(*row)
