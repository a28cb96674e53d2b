"""Many facts of one session at once, as an import brings them: few statements, and search follows afterwards."""

import sqlite3
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from core.domain.events import RunEvent
from core.domain.sessions import fold_session
from core.domain.steps import Step, fold
from core.store.blobs import deflate
from core.store.codec import pack
from core.store.keys import key
from core.store.live import Live
from core.store.rows import update_session, write_steps
from core.store.told import Told
from core.store.unsearched import find_later


class Fact(NamedTuple):
    """A fact as it will be written, with its time; `event` has only the heads of long texts."""

    at: int
    event: RunEvent
    kind: str
    payload: str


class Bulk(NamedTuple):
    """Facts that follow each other, and the contents that they name."""

    facts: tuple[Fact, ...]
    contents: Mapping[str, bytes]


def bulk(facts: Iterable[tuple[int, RunEvent]], contents: Mapping[str, bytes]) -> Bulk:
    """What needs no data file, in whatever thread has the time. Contents are packed where they are written."""
    made: list[Fact] = []
    found = dict(contents)
    for at, event in facts:
        packed = pack(event)
        found |= packed.blobs
        made.append(Fact(at, packed.event, packed.kind, packed.payload))
    return Bulk(tuple(made), found)


def pour(db: sqlite3.Connection, live: Live, many: Bulk) -> Told:
    """On the writing thread, in a transaction: what became of the session, told as one."""
    number, first = live.number, live.row.seq + 1
    bodies = [(name, len(body), deflate(body)) for name, body in many.contents.items()]
    db.executemany("INSERT OR IGNORE INTO blob VALUES (?, ?, ?)", bodies)
    rows: list[tuple[int, int, int, str, str]] = []
    changed: dict[int, Step] = {}
    for at, event, kind, payload in many.facts:
        entry = live.entry(event, at)
        rows.append((key(number, entry.seq), entry.run, entry.at, kind, payload))
        steps = fold(entry, live.outline)
        for step in steps:
            changed[step.row] = step
        live.row = fold_session(live.row, entry, steps, live.outline)
    db.executemany("INSERT INTO entry VALUES (?, ?, ?, ?, ?)", rows)
    ordered = [changed[row] for row in sorted(changed)]
    write_steps(db, number, ordered)
    update_session(db, number, live.row)
    find_later(db, key(number, first), rows[-1][0])
    return Told(entry, ordered, live.row)
