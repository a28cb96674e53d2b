"""Measures our own cost of a turn with a model that answers at once, against the same rows through plain sqlite3."""

import asyncio
import json
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from app.process import data_folder
from app.process.services import build_services
from core.domain.events import RunStarted
from core.domain.text import Text
from core.store import database
from tests.bench.benchmark import Measurement, scratch_folder

SIZES = {100: 9, 1_000: 5, 5_000: 3}  # number of turns per run: number of repetitions
RATIO = 3.0
FLAT = 0.2

Statement = tuple[str, Any]
Commits = list[list[Statement]]


class Timing(NamedTuple):
    """Seconds of wall clock and of CPU time."""

    wall: float
    cpu: float


class TimingPair(NamedTuple):
    ours: Timing
    floor: Timing


class RecordingConnection:
    """A connection that records every statement that changes the file, grouped by transaction."""

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


def measure_turns() -> Iterator[Measurement]:
    """Measure runs of several sizes and their floor, interleaved so that a busy machine affects all of them alike."""
    time_run(20)  # warm-up: imports and one-time compilation
    commits = {size: record_statements(size) for size in SIZES}
    pairs: dict[int, list[TimingPair]] = {size: [] for size in SIZES}
    for turn in range(max(SIZES.values())):
        for size in (size for size, times in SIZES.items() if turn < times):
            pairs[size].append(TimingPair(time_run(size), replay_statements(commits[size])))
    for size, found in pairs.items():
        yield _figure(size, found, commits[size])
    first, last = (median(pair.ours.cpu for pair in pairs[size]) / size for size in (min(pairs), max(pairs)))
    yield Measurement("flat", {"cpu last/first": last / first}, f"within {FLAT:.0%}", last / first <= 1 + FLAT)


def _figure(size: int, pairs: list[TimingPair], commits: Commits) -> Measurement:
    def a_round(seconds: Iterator[float]) -> float:
        return median(seconds) / size * 1000

    ratio = median(pair.ours.wall / pair.floor.wall for pair in pairs)
    values = {
        "ours ms/turn": a_round(pair.ours.wall for pair in pairs),
        "floor": a_round(pair.floor.wall for pair in pairs),
        "ours cpu": a_round(pair.ours.cpu for pair in pairs),
        "floor cpu": a_round(pair.floor.cpu for pair in pairs),
        "commits/turn": len(commits) / size,
        "rows/turn": sum(map(len, commits)) / size,
        "pairs": len(pairs),
        "ratio": ratio,
    }
    return Measurement(f"{size:,} turns", values, f"ratio ≤ {RATIO:g}", ratio <= RATIO)


def script(size: int) -> str:
    """Return a script in which every turn reads different lines of a file."""
    calls = [[{"name": "read", "arguments": {"path": "notes.txt", "start": n, "end": n + 9}}] for n in range(1, size)]
    return json.dumps({"replies": [{"text": f"Turn {n}.", "calls": call} for n, call in enumerate(calls, 1)]})


def current_timing() -> Timing:
    return Timing(time.perf_counter(), time.process_time())


def elapsed_since(began: Timing) -> Timing:
    return Timing(time.perf_counter() - began.wall, time.process_time() - began.cpu)


def time_run(size: int) -> Timing:
    """Return the time of a run as `journeyman run --script` executes it."""
    with scratch_folder() as folder:
        return asyncio.run(_run(folder, size))


async def _run(folder: Path, size: int) -> Timing:
    work, home = folder / "work", folder / "home"
    work.mkdir()
    home.mkdir()
    (work / "notes.txt").write_text("".join(f"Line {n} of the notes.\n" for n in range(size + 10)))
    services = await build_services(home, _report)
    try:
        began = current_timing()
        engine = services.engine
        session = await engine.start("Read it all.", work, RunStarted("scripted", 0, Text(script(size))))
        await engine.wait_idle(session)
        took = elapsed_since(began)
        row = engine.session(session)
        assert (row.status, row.turns) == ("done", size), row
        return took
    finally:
        await services.close()


def _report(error: BaseException) -> None:
    raise error


def record_statements(size: int) -> Commits:
    """Return the statements of a run as they reached the connection."""
    commits: Commits = []
    real = database.connect
    database.connect = lambda *given: RecordingConnection(real(*given), commits)  # type: ignore[assignment]
    try:
        time_run(size)
    finally:
        database.connect = real
    return commits


def replay_statements(commits: Commits) -> Timing:
    """Return the time of executing the same statements in the same transactions through plain sqlite3."""
    with scratch_folder() as folder:
        db = database.connect(data_folder.database_path(folder), "FULL")
        try:
            began = current_timing()
            for statements in commits:
                db.execute("BEGIN IMMEDIATE")
                for sql, values in statements:
                    db.execute(sql, values)
                db.execute("COMMIT")
            return elapsed_since(began)
        finally:
            db.close()
