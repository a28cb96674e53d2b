"""Creates sessions for tests, such as one with every kind of event in a plausible order, and dumps data files."""

import asyncio
import json
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from core.domain.events import SessionEvent
from core.store.codec import decode_event
from core.store.database import Database
from core.store.journal import Journal
from core.store.reader import Reader
from tests.sessions import create_session

T = TypeVar("T")
GOLDEN = Path(__file__).parents[2] / "golden"
START = 1_700_000_000_000_000

ORDER = (
    "user_message",
    "run_started",
    "request_sent",
    "request_retried",
    "request_sent",
    "reply_interrupted",
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
    """Return the golden examples of a kind of event."""
    found: list[dict[str, Any]] = json.loads((GOLDEN / "events" / f"{kind}.json").read_text("utf-8"))
    return found


def every_kind() -> list[SessionEvent]:
    """Return the first example of each kind of the first schema, in an order in which they may happen."""
    return [decode_event(kind, json.dumps(examples(kind)[0]["payload"])) for kind in ORDER]


def clock() -> Callable[[], int]:
    """Return a clock that advances by one second per call."""
    ticks = count(START, 1_000_000)
    return lambda: next(ticks)


@contextmanager
def journal_at(path: Path, **options: Any) -> Iterator[tuple[Journal, Reader, Database]]:
    """Yield a journal on a real file."""
    database = Database(path, **options)
    reader = Reader(path)
    try:
        yield Journal(database, reader, clock()), reader, database
    finally:
        reader.close()
        database.close()


def write(path: Path, work: Callable[[Journal], Awaitable[T]]) -> T:
    """Open a journal, run `work` and close it."""

    async def main(journal: Journal) -> T:
        return await work(journal)

    with journal_at(path) as (journal, _, _):
        return asyncio.run(main(journal))


def fill(path: Path, facts: int = 0, *, sessions: int = 1) -> list[str]:
    """Write sessions with every kind of event each, and `facts` more events of one kilobyte."""
    events = every_kind()
    long = [
        decode_event("user_message", json.dumps({"text": {"head": f"line {n} " + "word " * 200}})) for n in range(facts)
    ]

    async def work(journal: Journal) -> list[str]:
        names = []
        for n in range(sessions):
            names.append(await create_session(journal, f"/tmp/{n}", f"Session {n}"))
            await journal.append(names[-1], *events, *long, blobs={"0" * 64: b"kept apart " * 1000})
        return names

    return write(path, work)


def dump(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of every table, and the terms of the full-text index."""
    db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        db.execute("CREATE VIRTUAL TABLE temp.told USING fts5vocab(main, event_search, instance)")
        tables = {
            table: db.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()
            for table in ("session", "event", "step", "pending_request", "blob")
        }
        return tables | {"search": db.execute("SELECT * FROM temp.told ORDER BY doc, offset").fetchall()}
    finally:
        db.close()
