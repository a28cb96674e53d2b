"""Our own cost of a round with a model that answers in no time, against the same rows by plain sqlite3."""

import asyncio
import json
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from app import places
from app.assemble import assemble
from core.domain.events import RunStarted
from core.domain.text import Text
from core.store import database
from tests.bench.bench import Figure, scratch

SIZES = {100: 9, 1_000: 5, 5_000: 3}  # rounds: how often
RATIO = 3.0
FLAT = 0.2

Statement = tuple[str, Any]
Commits = list[list[Statement]]


class Took(NamedTuple):
    """Seconds, by the clock on the wall and of the processor."""

    wall: float
    cpu: float


class Pair(NamedTuple):
    ours: Took
    floor: Took


class Recording:
    """A connection that keeps every statement that changes the file, by transaction."""

    def __init__(self, db: sqlite3.Connection, commits: Commits) -> None:
        self._db = db
        self._commits = commits

    def execute(self, sql: str, values: Any = ()) -> sqlite3.Cursor:
        if sql.startswith("BEGIN"):
            self._commits.append([])
        elif not sql.startswith(("SELECT", "COMMIT", "PRAGMA")):
            self._commits[-1].append((sql, tuple(values)))
        return self._db.execute(sql, values)

    def executemany(self, sql: str, rows: list[Any]) -> sqlite3.Cursor:
        self._commits[-1] += [(sql, row) for row in rows]
        return self._db.executemany(sql, rows)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)


def rounds() -> Iterator[Figure]:
    """Ours and the floor in turn, and the sizes in turn, so that a busy machine hits all of them."""
    work(20)  # what is imported or compiled only once
    commits = {size: record(size) for size in SIZES}
    pairs: dict[int, list[Pair]] = {size: [] for size in SIZES}
    for turn in range(max(SIZES.values())):
        for size in (size for size, times in SIZES.items() if turn < times):
            pairs[size].append(Pair(work(size), write(commits[size])))
    for size, found in pairs.items():
        yield _figure(size, found, commits[size])
    first, last = (median(pair.ours.cpu for pair in pairs[size]) / size for size in (min(pairs), max(pairs)))
    yield Figure("flat", {"cpu last/first": last / first}, f"within {FLAT:.0%}", last / first <= 1 + FLAT)


def _figure(size: int, pairs: list[Pair], commits: Commits) -> Figure:
    def a_round(seconds: Iterator[float]) -> float:
        return median(seconds) / size * 1000

    ratio = median(pair.ours.wall / pair.floor.wall for pair in pairs)
    values = {
        "ours ms/round": a_round(pair.ours.wall for pair in pairs),
        "floor": a_round(pair.floor.wall for pair in pairs),
        "ours cpu": a_round(pair.ours.cpu for pair in pairs),
        "floor cpu": a_round(pair.floor.cpu for pair in pairs),
        "commits/round": len(commits) / size,
        "rows/round": sum(map(len, commits)) / size,
        "pairs": len(pairs),
        "ratio": ratio,
    }
    return Figure(f"{size:,} rounds", values, f"ratio ≤ {RATIO:g}", ratio <= RATIO)


def script(size: int) -> str:
    """Every round reads other lines of a file."""
    calls = [[{"name": "read", "arguments": {"path": "notes.txt", "start": n, "end": n + 9}}] for n in range(1, size)]
    return json.dumps({"replies": [{"text": f"Round {n}.", "calls": call} for n, call in enumerate(calls, 1)]})


def now() -> Took:
    return Took(time.perf_counter(), time.process_time())


def since(began: Took) -> Took:
    return Took(time.perf_counter() - began.wall, time.process_time() - began.cpu)


def work(size: int) -> Took:
    """Seconds of a run as `journeyman run --script` works it."""
    with scratch() as folder:
        return asyncio.run(_run(folder, size))


async def _run(folder: Path, size: int) -> Took:
    work, home = folder / "work", folder / "home"
    work.mkdir()
    home.mkdir()
    (work / "notes.txt").write_text("".join(f"Line {n} of the notes.\n" for n in range(size + 10)))
    services = await assemble(home, _report)
    try:
        began = now()
        engine = services.engine
        session = await engine.start("Read it all.", work, RunStarted("scripted", 0, Text(script(size))))
        await engine.wait(session)
        took = since(began)
        row = engine.session(session)
        assert (row.status, row.rounds) == ("done", size), row
        return took
    finally:
        await services.close()


def _report(error: BaseException) -> None:
    raise error


def record(size: int) -> Commits:
    """The statements of a run, as they reached the connection."""
    commits: Commits = []
    real = database.connect
    database.connect = lambda *given: Recording(real(*given), commits)  # type: ignore[assignment]
    try:
        work(size)
    finally:
        database.connect = real
    return commits


def write(commits: Commits) -> Took:
    """Seconds that the same statements take in the same transactions, with nothing around them."""
    with scratch() as folder:
        db = database.connect(places.database(folder), "FULL")
        try:
            began = now()
            for statements in commits:
                db.execute("BEGIN IMMEDIATE")
                for sql, values in statements:
                    db.execute(sql, values)
                db.execute("COMMIT")
            return since(began)
        finally:
            db.close()
