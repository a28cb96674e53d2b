"""Reads token usage and cost by day, model, folder and agent profile.

This reads every reply, so do not call it on the UI thread.
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from core.store.health import open_read_only
from core.store.row_keys import BITS

# Microseconds; a longer time is not counted, because the clock must have been set.
MAX_REPLY_TIME = 24 * 60 * 60 * 1_000_000
FOREVER = 2**62

# A reply belongs to the request before it. Replies that a fork copied count only in their original session.
_QUERY = f"""
WITH forked (number, last) AS (
    SELECT s.number, max(e.id) FROM session s
    JOIN event e ON e.id > s.number << {BITS} AND e.id < s.number + 1 << {BITS}
    WHERE s.forked_from <> '' AND e.kind = 'session_forked' GROUP BY s.number
),
started (number, run, agent) AS (
    SELECT e.id >> {BITS}, e.run, max(coalesce(json_extract(e.payload, '$.profile'), '')) FROM event e
    WHERE e.kind = 'run_started' GROUP BY 1, 2
),
reply AS (
    SELECT e.at, s.folder, e.payload, coalesce(t.agent, '') AS agent,
        (SELECT r.id FROM event r WHERE r.id < e.id AND r.id > s.number << {BITS} AND r.kind = 'request_sent'
         ORDER BY r.id DESC LIMIT 1) AS request
    FROM event e JOIN session s ON s.number = e.id >> {BITS} LEFT JOIN forked f ON f.number = s.number
    LEFT JOIN started t ON t.number = s.number AND t.run = e.run
    WHERE e.at >= ? AND e.at < ? AND e.id > coalesce(f.last, 0) AND
        (e.kind = 'replied' OR e.kind = 'context_compacted' AND json_extract(e.payload, '$.model') <> '')
)
SELECT date(p.at / 1000000, 'unixepoch', 'localtime') AS day, coalesce(json_extract(r.payload, '$.model'), ''),
    p.folder, count(*), sum(json_extract(p.payload, '$.usage.input')), sum(json_extract(p.payload, '$.usage.output')),
    sum(json_extract(p.payload, '$.usage.cache_read')), coalesce(sum(json_extract(p.payload, '$.cost')), 0.0),
    sum(json_extract(p.payload, '$.cost') IS NULL),
    sum(CASE WHEN p.at - r.at BETWEEN 0 AND {MAX_REPLY_TIME} THEN p.at - r.at ELSE 0 END), p.agent
FROM reply p LEFT JOIN event r ON r.id = p.request
GROUP BY 1, 2, 3, p.agent ORDER BY 1, 2, 3, p.agent
"""


class UsageRow(NamedTuple):
    """The usage of one model by one agent profile in one folder on one day (local date, such as `2026-11-22`).

    `agent` is the name of the profile, "" for the default one.
    `cached` is a part of `input`. `cost` is in US dollars and covers only replies whose price is known; `unpriced` is
    the number of other replies. `duration` is the total time from requests to their replies, in microseconds.
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
    duration: int = 0
    agent: str = ""

    @property
    def tokens(self) -> int:
        return self.input + self.output


def read_usage(path: Path, since: int = 0, until: int = 0) -> list[UsageRow]:
    """Return the usage from `since` to before `until`, ordered by day. Both are in microseconds; 0 means no limit.

    `until` excludes replies with a time in the future, which were stored while the clock was wrong.
    """
    with closing(open_read_only(path)) as db:
        db.row_factory = _row
        rows: list[UsageRow] = db.execute(_QUERY, (since, until or FOREVER)).fetchall()
        return rows


def _row(_: sqlite3.Cursor, row: tuple[object, ...]) -> UsageRow:
    return UsageRow(*(0 if value is None else value for value in row))  # type: ignore[arg-type]  # The query has these columns.
