"""Converts steps and sessions to rows and back. It does without pydantic, because the window needs it at startup."""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from core.domain.sessions import SessionRow
from core.domain.steps import Step
from core.store.row_keys import offset_of, row_key

SESSION_COLUMNS = ", ".join(SessionRow._fields)
STEP_COLUMNS = (
    "id, number, kind, key, status, object, started_at, ended_at, run, depth, tokens, cost,"
    " metrics, first_seq, last_seq"
)

_UPDATE_SESSION = "UPDATE session SET " + ", ".join(f"{name} = ?" for name in SessionRow._fields[1:])


def write_steps(db: sqlite3.Connection, session: int, steps: Iterable[Step]) -> None:
    """Insert new steps and update existing ones. The key of a step never changes."""
    db.executemany(
        f"INSERT INTO step ({STEP_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, status = excluded.status, object = excluded.object,"
        " ended_at = excluded.ended_at, tokens = excluded.tokens, cost = excluded.cost, metrics = excluded.metrics,"
        " last_seq = excluded.last_seq",
        [
            (
                row_key(session, step.row),
                step.number,
                step.kind,
                step.key,
                step.status,
                step.object,
                step.started_at,
                step.ended_at,
                step.run,
                step.depth,
                step.tokens,
                step.cost,
                _metrics_json(step.metrics),
                step.first_seq,
                step.last_seq,
            )
            for step in steps
        ],
    )


def _metrics_json(metrics: Mapping[str, int]) -> str:
    """Return the metrics as JSON. It is built by hand for speed; metric names need no escaping."""
    members = ",".join([f'"{name}":{amount}' for name, amount in metrics.items()])
    return f"{{{members}}}" if members else ""


def read_step(row: tuple[Any, ...]) -> Step:
    """Return the step in a row whose columns are in the order of STEP_COLUMNS."""
    step_id, number, kind, key, status, title, started_at, ended_at, run, depth, tokens, cost, metrics, *seqs = row
    first_seq, last_seq = seqs
    return Step(
        row=offset_of(step_id),
        kind=kind,
        status=status,
        started_at=started_at,
        number=number,
        key=key,
        object=title,
        ended_at=ended_at,
        run=run,
        depth=depth,
        tokens=tokens,
        cost=cost,
        metrics=json.loads(metrics) if metrics else {},
        first_seq=first_seq,
        last_seq=last_seq,
    )


def insert_session(db: sqlite3.Connection, row: SessionRow, number: int | None = None) -> int:
    """Insert a session under `number`, or the next free number. Return the number."""
    marks = ", ".join("?" for _ in row)
    cursor = db.execute(f"INSERT INTO session (number, {SESSION_COLUMNS}) VALUES (?, {marks})", (number, *row))
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def update_session(db: sqlite3.Connection, number: int, row: SessionRow) -> None:
    """Update the row of a session after an event."""
    db.execute(f"{_UPDATE_SESSION} WHERE number = ?", (*row[1:], number))


def read_session(row: Sequence[Any]) -> SessionRow:
    """Return the session in a row whose columns are in the order of SESSION_COLUMNS."""
    return SessionRow(*row)
