"""What models were asked for and what it cost, by day, model and folder. Reads every reply: not for the window."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from core.store.health import peek
from core.store.keys import BITS

# A reply belongs to the request before it. What a fork brought along was paid for where it comes from.
_USED = f"""
WITH forked (number, last) AS (
    SELECT s.number, max(e.id) FROM session s
    JOIN entry e ON e.id > s.number << {BITS} AND e.id < s.number + 1 << {BITS}
    WHERE s.origin <> '' AND e.kind = 'session_forked' GROUP BY s.number
),
reply AS (
    SELECT e.at, s.folder, e.payload,
        (SELECT r.id FROM entry r WHERE r.id < e.id AND r.id > s.number << {BITS} AND r.kind = 'request_sent'
         ORDER BY r.id DESC LIMIT 1) AS request
    FROM entry e JOIN session s ON s.number = e.id >> {BITS} LEFT JOIN forked f ON f.number = s.number
    WHERE e.at >= ? AND e.id > coalesce(f.last, 0) AND
        (e.kind = 'replied' OR e.kind = 'context_compacted' AND json_extract(e.payload, '$.model') <> '')
)
SELECT date(p.at / 1000000, 'unixepoch', 'localtime') AS day, coalesce(json_extract(r.payload, '$.model'), ''),
    p.folder, count(*), sum(json_extract(p.payload, '$.usage.input')), sum(json_extract(p.payload, '$.usage.output')),
    sum(json_extract(p.payload, '$.usage.cached')), coalesce(sum(json_extract(p.payload, '$.cost')), 0.0),
    sum(json_extract(p.payload, '$.cost') IS NULL), sum(max(0, p.at - coalesce(r.at, p.at)))
FROM reply p LEFT JOIN entry r ON r.id = p.request
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
"""


class Used(NamedTuple):
    """Of one model in one folder on one day (as `2026-11-22`, on this computer's clock).

    `cached` is a part of `input`. `cost` are US dollars of the replies whose price is known, `unpriced` counts the
    others. `time` are the microseconds between requests and their replies.
    """

    day: str
    model: str
    folder: str
    replies: int = 0
    input: int = 0
    output: int = 0
    cached: int = 0
    cost: float = 0.0
    unpriced: int = 0
    time: int = 0

    @property
    def tokens(self) -> int:
        return self.input + self.output


def used(path: Path, since: int = 0) -> list[Used]:
    """From this moment on, in the order of days."""
    with closing(peek(path)) as db:
        db.row_factory = _row
        found: list[Used] = db.execute(_USED, (since,)).fetchall()
        return found


def _row(_: sqlite3.Cursor, row: tuple[object, ...]) -> Used:
    return Used(*(0 if value is None else value for value in row))  # type: ignore[arg-type]  # as the query says
