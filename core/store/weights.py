"""Which sessions are large, and why: what their facts weigh, by kind, with the contents they name."""

import re
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from core.store.health import peek
from core.store.keys import session_of

NAMED = re.compile(r'"([0-9a-f]{64})"')


@dataclass(frozen=True, slots=True)
class Weight:
    """`size` are bytes on the disk, near enough; `kinds` those of each kind of fact, the heaviest first."""

    session: str
    title: str
    facts: int
    steps: int
    size: int
    kinds: tuple[tuple[str, int], ...] = ()


def weights(path: Path, limit: int = 10) -> list[Weight]:
    """The heaviest sessions. Contents that several name count for the first. Reads every fact: not for the window."""
    with closing(peek(path)) as db:
        known = {row[0]: row[1:] for row in db.execute("SELECT number, id, title, seq, steps FROM session")}
        weighed = _weigh(db)
    heaviest = sorted(known, key=lambda number: (-weighed.get(number, Counter()).total(), number))[:limit]
    return [_weight(known[number], weighed.get(number, Counter())) for number in heaviest]


def _weigh(db: sqlite3.Connection) -> dict[int, Counter[str]]:
    blobs: dict[str, int] = dict(db.execute("SELECT hash, length(body) FROM blob"))
    weighed: dict[int, Counter[str]] = {}
    for name, kind, payload in db.execute("SELECT id, kind, payload FROM entry"):
        mine = weighed.setdefault(session_of(name), Counter())
        mine[kind] += len(payload) + sum(blobs.pop(blob, 0) for blob in NAMED.findall(payload))
    return weighed


def _weight(row: tuple[str, str, int, int], mine: "Counter[str]") -> Weight:
    name, title, facts, steps = row
    return Weight(name, title, facts, steps, mine.total(), tuple(mine.most_common(3)))
