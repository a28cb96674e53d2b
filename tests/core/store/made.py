"""Sessions made for tests: one with every kind of fact, in an order that could have been, and ways to write it."""

import asyncio
import json
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from core.domain.events import RunEvent
from core.store.codec import decode
from core.store.database import Database
from core.store.journal import Journal
from core.store.reader import Reader

T = TypeVar("T")
GOLDEN = Path(__file__).parents[2] / "golden"
START = 1_700_000_000_000_000

ORDER = (
    "person_spoke",
    "run_started",
    "request_sent",
    "retried",
    "request_sent",
    "reply_cut",
    "request_sent",
    "replied",
    "call_refused",
    "call_started",
    "file_changed",
    "tool_returned",
    "question_asked",
    "run_interrupted",
    "run_resumed",
    "question_answered",
    "run_ended",
)


def examples(kind: str) -> list[dict[str, Any]]:
    """What is kept of a kind, for ever."""
    found: list[dict[str, Any]] = json.loads((GOLDEN / "events" / f"{kind}.json").read_text("utf-8"))
    return found


def every_kind() -> list[RunEvent]:
    """The first example of each kind of the first form, in an order in which they may happen."""
    return [decode(kind, json.dumps(examples(kind)[0]["payload"])) for kind in ORDER]


def clock() -> Callable[[], int]:
    """A second for every look."""
    ticks = count(START, 1_000_000)
    return lambda: next(ticks)


@contextmanager
def journal_at(path: Path, **options: Any) -> Iterator[tuple[Journal, Reader, Database]]:
    """A journal on a real file."""
    database = Database(path, **options)
    reader = Reader(path)
    try:
        yield Journal(database, reader, clock()), reader, database
    finally:
        reader.close()
        database.close()


def write(path: Path, work: Callable[[Journal], Awaitable[T]]) -> T:
    """Open, do `work`, close."""

    async def main(journal: Journal) -> T:
        return await work(journal)

    with journal_at(path) as (journal, _, _):
        return asyncio.run(main(journal))


def fill(path: Path, facts: int = 0, *, sessions: int = 1) -> list[str]:
    """Sessions with every kind of fact each, and `facts` more lines of a kilobyte."""
    events = every_kind()
    long = [decode("person_spoke", json.dumps({"text": {"head": f"line {n} " + "word " * 200}})) for n in range(facts)]

    async def work(journal: Journal) -> list[str]:
        names = []
        for n in range(sessions):
            names.append(await journal.open(f"/tmp/{n}", f"Session {n}"))
            await journal.append(names[-1], *events, *long, blobs={"0" * 64: b"kept apart " * 1000})
        return names

    return write(path, work)


def dump(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Everything a file holds, the words of the search as well."""
    db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        db.execute("CREATE VIRTUAL TABLE temp.told USING fts5vocab(main, search, instance)")
        tables = {
            table: db.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()
            for table in ("session", "entry", "step", "question", "blob")
        }
        return tables | {"search": db.execute("SELECT * FROM temp.told ORDER BY doc, offset").fetchall()}
    finally:
        db.close()
