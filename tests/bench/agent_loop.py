"""Measures our own cost of a turn with a model that answers at once, against two floors through plain sqlite3.

The floors write no more than what must be durable, with the same sync: the events of our runs in two commits a turn
(the results with the next request, and the reply), and one row with a commit of its own for each message.
"""

import asyncio
import json
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
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
EVENTS_RATIO, MESSAGES_RATIO = 2.0, 4.0
MAX_ROWS, MAX_COMMITS = 7.0, 2.1  # per turn; a run begins and ends with a few more
FLAT = 0.1
INSERT_EVENT = "INSERT INTO event "
KIND = 3  # index of the kind in the values of an event

Statement = tuple[str, Any]


@dataclass(slots=True)
class Transaction:
    """The statements of a transaction that change the file, and whether its commit was synced."""

    synced: bool
    statements: list[Statement] = field(default_factory=list)


Commits = list[list[Statement]]


class Timing(NamedTuple):
    """Seconds of wall clock and of CPU time."""

    wall: float
    cpu: float


class Timings(NamedTuple):
    """One run, and the floors measured directly after it."""

    ours: Timing
    events: Timing
    messages: Timing


class RecordingConnection:
    """A connection that records every statement that changes the file, grouped by transaction."""

    def __init__(self, db: sqlite3.Connection, transactions: list[Transaction]) -> None:
        self._db = db
        self._transactions = transactions
        self._synced = True

    def execute(self, sql: str, values: Any = ()) -> sqlite3.Cursor:
        if sql.startswith("PRAGMA synchronous"):
            self._synced = sql.endswith("FULL")
        elif sql.startswith("BEGIN"):
            self._transactions.append(Transaction(self._synced))
        elif not sql.startswith(("SELECT", "COMMIT", "PRAGMA", "SAVEPOINT", "RELEASE")):
            self._transactions[-1].statements.append((sql, tuple(values)))
        return self._db.execute(sql, values)

    def executemany(self, sql: str, rows: list[Any]) -> sqlite3.Cursor:
        self._transactions[-1].statements += [(sql, row) for row in rows]
        return self._db.executemany(sql, rows)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)


def measure_turns() -> Iterator[Measurement]:
    """Measure runs of several sizes and the floors, interleaved so that a busy machine affects all of them alike."""
    time_run(20)  # warm-up: imports and one-time compilation
    recorded = {size: record_statements(size) for size in SIZES}
    timings: dict[int, list[Timings]] = {size: [] for size in SIZES}
    for turn in range(max(SIZES.values())):
        for size in (size for size, times in SIZES.items() if turn < times):
            ours = time_run(size)
            events, messages = event_commits(recorded[size]), message_commits(recorded[size])
            timings[size].append(Timings(ours, replay_statements(events), replay_statements(messages)))
    for size, found in timings.items():
        yield _figure(size, found, recorded[size])
    first, last = (median(each.ours.cpu for each in timings[size]) / size for size in (min(timings), max(timings)))
    yield Measurement("flat", {"cpu last/first": last / first}, f"within {FLAT:.0%}", last / first <= 1 + FLAT)


def _figure(size: int, timings: list[Timings], recorded: list[Transaction]) -> Measurement:
    def per_turn(seconds: Iterator[float]) -> float:
        return median(seconds) / size * 1000

    events = median(each.ours.wall / each.events.wall for each in timings)
    messages = median(each.ours.wall / each.messages.wall for each in timings)
    durable = [transaction for transaction in recorded if transaction.synced]
    rows, commits = sum(len(each.statements) for each in durable) / size, len(durable) / size
    derived = [transaction for transaction in recorded if not transaction.synced]
    values = {
        "ours ms/turn": per_turn(each.ours.wall for each in timings),
        "ours cpu": per_turn(each.ours.cpu for each in timings),
        "events in two commits": per_turn(each.events.wall for each in timings),
        "a commit a message": per_turn(each.messages.wall for each in timings),
        "rows/turn": rows,
        "commits/turn": commits,
        "derived rows/turn": sum(len(each.statements) for each in derived) / size,
        "derived commits/turn": len(derived) / size,
        "× events": events,
        "× messages": messages,
    }
    goal = (
        f"≤ {EVENTS_RATIO:g} × events, ≤ {MESSAGES_RATIO:g} × messages, ≤ {MAX_ROWS:g} rows, {MAX_COMMITS:.0f} commits"
    )
    good = events <= EVENTS_RATIO and messages <= MESSAGES_RATIO and rows <= MAX_ROWS and commits <= MAX_COMMITS
    return Measurement(f"{size:,} turns", values, goal, good)


def event_commits(recorded: list[Transaction]) -> Commits:
    """Return the events of a run in two transactions a turn: one ends with a request, one with a reply."""
    commits: Commits = [[]]
    for statement in _events(recorded):
        commits[-1].append(statement)
        if statement[1][KIND] in {"request_sent", "replied"}:
            commits.append([])
    return commits


def message_commits(recorded: list[Transaction]) -> Commits:
    """Return a transaction for each message of a run: the events that have its text."""
    kinds = {"user_message", "replied", "tool_returned"}
    return [[statement] for statement in _events(recorded) if statement[1][KIND] in kinds]


def _events(recorded: list[Transaction]) -> Iterator[Statement]:
    for transaction in recorded:
        yield from (each for each in transaction.statements if each[0].startswith(INSERT_EVENT))


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


def record_statements(size: int) -> list[Transaction]:
    """Return the statements of a run as they reached the connection."""
    transactions: list[Transaction] = []
    real = database.connect
    database.connect = lambda *given: RecordingConnection(real(*given), transactions)  # type: ignore[assignment]
    try:
        time_run(size)
    finally:
        database.connect = real
    return transactions


def replay_statements(commits: Commits) -> Timing:
    """Return the time of executing statements in synced transactions through plain sqlite3."""
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
