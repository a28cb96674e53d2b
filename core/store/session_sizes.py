"""Sizes of sessions by kind of event, including the blobs that the events refer to."""

import re
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from core.store.health import open_read_only
from core.store.row_keys import session_of

BLOB_HASH = re.compile(r'"([0-9a-f]{64})"')


@dataclass(frozen=True, slots=True)
class SessionSize:
    """The size of a session.

    `size` is the approximate number of bytes on disk. `kinds` has the three kinds of events that take the most space,
    with their sizes.
    """

    session: str
    title: str
    events: int
    steps: int
    size: int
    kinds: tuple[tuple[str, int], ...] = ()


def session_sizes(path: Path, limit: int = 10) -> list[SessionSize]:
    """Return the largest sessions, largest first. A blob counts only for the first session that refers to it.

    This reads every event, so do not call it on the UI thread.
    """
    with closing(open_read_only(path)) as db:
        sessions = {row[0]: row[1:] for row in db.execute("SELECT number, id, title, last_seq, steps FROM session")}
        sizes = _measure(db)
    largest = sorted(sessions, key=lambda number: (-sizes.get(number, Counter()).total(), number))[:limit]
    return [_session_size(sessions[number], sizes.get(number, Counter())) for number in largest]


def _measure(db: sqlite3.Connection) -> dict[int, Counter[str]]:
    blobs: dict[str, int] = dict(db.execute("SELECT hash, length(body) FROM blob"))
    sizes: dict[int, Counter[str]] = {}
    for key, kind, payload in db.execute("SELECT id, kind, payload FROM event"):
        by_kind = sizes.setdefault(session_of(key), Counter())
        by_kind[kind] += len(payload) + sum(blobs.pop(blob, 0) for blob in BLOB_HASH.findall(payload))
    return sizes


def _session_size(row: tuple[str, str, int, int], by_kind: Counter[str]) -> SessionSize:
    name, title, events, steps = row
    return SessionSize(
        session=name, title=title, events=events, steps=steps, size=by_kind.total(), kinds=tuple(by_kind.most_common(3))
    )
