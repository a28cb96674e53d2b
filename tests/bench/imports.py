"""What it costs to import a long transcript, against reading its lines as JSON: until it can be looked at, is whole,
is found by its words.

Figures of the processor, in a process of its own each: python -m tests.bench.imports MEGABYTES prints them.
"""

import asyncio
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from core.store.reader import Reader
from tests.bench.bench import ROOT, Figure, scratch
from tests.bench.transcript import transcript
from tests.core.exchange.home import home

SMALL, LARGE = 30, 700  # megabytes
TURNS = 3
RATIO = 3.0
LOOK_MS = 300.0
MEMORY_MB = 200


def imports() -> Iterator[Figure]:
    """A file of the size that is usual, and a very large one."""
    for size, turns in ((SMALL, TURNS), (LARGE, 1)):
        took = [_alone(size) for _ in range(turns)]
        values = {name: median(each[name] for each in took) for name in took[0]}
        good = values["whole ×"] <= RATIO and values["look ms"] <= LOOK_MS and values["memory MB"] <= MEMORY_MB
        goal = f"whole ≤ {RATIO:g} ×, look ≤ {LOOK_MS:g} ms, memory ≤ {MEMORY_MB} MB"
        yield Figure(f"{size} MB", values, goal, good)


def _alone(size: int) -> dict[str, float]:
    words = [sys.executable, "-m", "tests.bench.imports", str(size)]
    done = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


async def _figures(folder: Path, size: int) -> dict[str, float]:
    file = transcript(folder, size * 1_000_000)
    lines = min(_lines(file) for _ in range(TURNS if size == SMALL else 1))
    database = folder / "a.db"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with home(database) as made:
        seen: list[float] = []
        began, wall = time.process_time(), time.perf_counter()
        brought = await made.desk.bring(file, begun=lambda _: seen.append(time.perf_counter() - wall))
        whole = time.process_time() - began
        look = _look(database, brought.session)
        began = time.process_time()
        await made.desk.make_findable()
        index = time.process_time() - began
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return {
        "whole ×": whole / lines, "index ×": index / lines, "first look ms": seen[0] * 1000, "look ms": look * 1000,
        "memory MB": memory, "file / database": file.stat().st_size / database.stat().st_size,
    }  # fmt: skip


def _lines(file: Path) -> float:
    began = time.process_time()
    with file.open("rb") as lines:
        for line in lines:
            json.loads(line)
    return time.process_time() - began


def _look(database: Path, session: str) -> float:
    """What the viewer reads of a session that it opens at its end."""
    began = time.perf_counter()
    reader = Reader(database)
    row = reader.session(session)
    assert row
    assert len(reader.steps(session, row.rows - 200, 200)) == 200
    reader.sample(session, row.rows, 2_000)
    reader.close()
    return time.perf_counter() - began


if __name__ == "__main__":
    with scratch() as place:
        print(json.dumps(asyncio.run(_figures(place, int(sys.argv[1])))))
