"""Measures importing a long transcript: until it can be opened, is complete, and can be searched.

All figures with `×` are multiples of reading the lines as JSON. `SQLite ×` is the cost of only inserting the same rows,
so 1 + `SQLite ×` is the lower bound of an import. The goal applies to `wall ×`, the elapsed time a user notices;
`whole ×` is the CPU time of all threads and of the process that reads a very large file.

Each measurement runs in its own process: python -m tests.bench.transcript_import MEGABYTES prints one as JSON.
"""

import asyncio
import json
import resource
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from statistics import median

from core.exchange.transcript_reader import BATCH_EVENTS
from core.store import database
from core.store.reader import Reader
from tests.bench.benchmark import ROOT, Measurement, scratch_folder
from tests.bench.transcript import write_transcript
from tests.core.exchange.home import home

SMALL, LARGE = 30, 700  # megabytes
REPETITIONS = 3
RATIO = 3.0
LOOK_MS = 300.0
MEMORY_MB = 200


def measure_imports() -> Iterator[Measurement]:
    """Measure a file of common size and a very large one."""
    for size, turns in ((SMALL, REPETITIONS), (LARGE, 1)):
        took = [_alone(size) for _ in range(turns)]
        values = {name: median(each[name] for each in took) for name in took[0]}
        good = values["wall ×"] <= RATIO and values["look ms"] <= LOOK_MS and values["memory MB"] <= MEMORY_MB
        goal = f"wall ≤ {RATIO:g} ×, look ≤ {LOOK_MS:g} ms, memory ≤ {MEMORY_MB} MB"
        yield Measurement(f"{size} MB", values, goal, good)


def _alone(size: int) -> dict[str, float]:
    words = [sys.executable, "-m", "tests.bench.transcript_import", str(size)]
    done = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


async def _figures(folder: Path, size: int) -> dict[str, float]:
    file = write_transcript(folder, size * 1_000_000)
    read = [_lines(file) for _ in range(REPETITIONS if size == SMALL else 1)]
    lines, lines_wall = (min(took) for took in zip(*read, strict=True))
    made_of_it = folder / "a.db"
    before = _memory()
    async with home(made_of_it) as made:
        seen: list[float] = []
        began, wall = _processor(), time.perf_counter()
        brought = await made.exchange.import_file(file, on_session=lambda _: seen.append(time.perf_counter() - wall))
        whole, whole_wall = _processor() - began, time.perf_counter() - wall
        look = _look(made_of_it, brought.session)
        began = time.process_time()
        await made.exchange.index_backlog()
        index = time.process_time() - began
    memory = (_memory() - before) / 1024
    return {
        "wall ×": whole_wall / lines_wall, "whole ×": whole / lines,
        "SQLite ×": _floor(made_of_it, folder / "floor.db") / lines, "index ×": index / lines,
        "first look ms": seen[0] * 1000, "look ms": look * 1000, "memory MB": memory,
        "file / database": file.stat().st_size / made_of_it.stat().st_size,
    }  # fmt: skip


def _processor() -> float:
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def _memory() -> int:
    return sum(resource.getrusage(whose).ru_maxrss for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def _lines(file: Path) -> tuple[float, float]:
    """Return the CPU and wall-clock seconds of reading every line as JSON."""
    began, wall = time.process_time(), time.perf_counter()
    with file.open("rb") as lines:
        for line in lines:
            json.loads(line)
    return time.process_time() - began, time.perf_counter() - wall


def _floor(made: Path, path: Path) -> float:
    """Return the CPU seconds of inserting the same rows in equally large transactions through plain sqlite3."""
    took = 0.0
    with closing(sqlite3.connect(made)) as source, closing(database.connect(path, "OFF")) as db:
        for table in ("session", "blob", "event", "step"):
            found = source.execute(f"SELECT * FROM {table}")
            while rows := found.fetchmany(BATCH_EVENTS):
                began = time.process_time()
                db.execute("BEGIN IMMEDIATE")
                db.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)
                db.execute("COMMIT")
                took += time.process_time() - began
    return took


def _look(database: Path, session: str) -> float:
    """Return the seconds of the reads the session view makes when it opens a session at its end."""
    began = time.perf_counter()
    reader = Reader(database)
    row = reader.session(session)
    assert row
    assert len(reader.steps(session, row.rows - 200, 200)) == 200
    reader.sample(session, row.rows, 2_000)
    reader.close()
    return time.perf_counter() - began


if __name__ == "__main__":
    with scratch_folder() as place:
        print(json.dumps(asyncio.run(_figures(place, int(sys.argv[1])))))
