"""Compares memory with plain full-text search: write speed, query speed, and how often the right sentence is first."""

import asyncio
import random
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from core.domain.clock import now
from core.domain.memory import EVERYWHERE, MemoryContent
from core.memory.index_terms import index_terms
from core.memory.memories import BATCH, Memories
from core.memory.saving import MemorySource
from core.store.database import Database, connect
from core.store.memory_store import MemoryStore
from tests.bench.benchmark import Measurement, percentile, scratch_folder
from tests.bench.synthetic_facts import Fact, make_facts
from tests.core.memory.made import add_all

SINGLE_WRITES = 50  # memories added one at a time
SIZES = (1_000, 10_000, 100_000)
QUESTIONS = 100
QUESTION_KINDS = ("exact", "inflected", "paraphrase")
P95_MS, BULK, ONE_MS = 10.0, 20_000, 1.0

TABLES = ("memory", "memory_version")
WORDS = 17  # index of the memory table's full-text column; the context column follows it

SearchFunction = Callable[[str], Sequence[str]]


def measure_memory() -> Iterator[Measurement]:
    """For each size, measure ours, plain FTS5 with the same sentences and questions, and SQLite alone with our rows."""
    for size in SIZES:
        made = make_facts(size)
        with scratch_folder() as folder:
            own = asyncio.run(measure_ours(folder, made))
            floor, bare = measure_fts5(folder, made), measure_sqlite(folder)
        fast = own["p95 ms"] <= P95_MS and own["rows/s"] >= BULK and own["one ms"] <= ONE_MS
        right = all(own[f"{sort} {n}"] >= floor[f"{sort} {n}"] for sort in QUESTION_KINDS[:2] for n in ("@1", "@5"))
        goal = f"p95 ≤ {P95_MS:g} ms, ≥ {BULK:,} rows/s, one ≤ {ONE_MS:g} ms, not below FTS5 in exact and inflected"
        yield Measurement(f"{size:,} ours", own, goal, fast and right)
        yield Measurement(f"{size:,} FTS5", floor)
        yield Measurement(f"{size:,} SQLite", bare)


async def measure_ours(folder: Path, made: Sequence[Fact]) -> dict[str, float]:
    """Measure our memory. Times are CPU time, except those named wall, because other programs share the machine."""
    database = Database(folder / "ours.db")
    book = MemoryStore(folder / "ours.db", database, index_terms)
    memories = Memories(book)
    try:
        said = [(MemoryContent("knowledge", fact.text), MemorySource("import")) for fact in made]
        began = time.process_time()
        await add_all(memories, said, now())
        bulk = time.process_time() - began
        began, began_at = time.process_time(), time.perf_counter()
        for number in range(SINGLE_WRITES):
            await memories.save(
                MemoryContent("knowledge", f"The spare part {number} lies in drawer {number * 7}."),
                MemorySource("agent"),
            )
        one, one_wall = (time.process_time() - began) / SINGLE_WRITES, (time.perf_counter() - began_at) / SINGLE_WRITES

        def ask(question: str) -> list[str]:
            return [found.memory.content.text for found in memories.find(question, scopes=[EVERYWHERE], limit=5)]

        figures = measure_recall(made, ask)
    finally:
        book.close()
        database.close()
    return {"rows/s": len(made) / bulk, "one ms": one * 1000, "one wall ms": one_wall * 1000, **figures}


def measure_sqlite(folder: Path) -> dict[str, float]:
    """Measure the share of SQLite and the disk: insert our rows in the same number of equally durable transactions."""
    source = sqlite3.connect(folder / "ours.db")
    every = [source.execute(f"SELECT * FROM {table} ORDER BY rowid").fetchall() for table in TABLES]
    source.close()
    db = connect(folder / "rows.db", "FULL")

    def write(start: int, end: int) -> None:
        db.execute("BEGIN IMMEDIATE")
        for table, rows in zip(TABLES, every, strict=True):
            db.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows[start:end])
        texts = [(row[0], row[WORDS], row[WORDS + 1]) for row in every[0][start:end]]
        db.executemany("INSERT INTO memory_search (rowid, words, context) VALUES (?, ?, ?)", texts)
        db.execute("COMMIT")

    several = len(every[0]) - SINGLE_WRITES
    began = time.process_time()
    for start in range(0, several, BATCH):
        write(start, min(start + BATCH, several))
    bulk = time.process_time() - began
    began, began_at = time.process_time(), time.perf_counter()
    for start in range(several, several + SINGLE_WRITES):
        write(start, start + 1)
    one, one_wall = (time.process_time() - began) / SINGLE_WRITES, (time.perf_counter() - began_at) / SINGLE_WRITES
    db.close()
    return {"rows/s": several / bulk, "one ms": one * 1000, "one wall ms": one_wall * 1000}


def measure_fts5(folder: Path, made: Sequence[Fact]) -> dict[str, float]:
    """Measure an FTS5 index with SQLite's own stemmer; a query matches any word of the question."""
    db = sqlite3.connect(folder / "plain.db")
    db.execute("CREATE VIRTUAL TABLE plain USING fts5 (text, tokenize='porter unicode61')")
    began = time.process_time()
    with db:
        db.executemany("INSERT INTO plain VALUES (?)", [(fact.text,) for fact in made])
    bulk = time.process_time() - began

    def ask(question: str) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question))
        rows = db.execute("SELECT text FROM plain WHERE plain MATCH ? ORDER BY rank LIMIT 5", (words,))
        return [row[0] for row in rows]

    figures = measure_recall(made, ask)
    db.close()
    return {"rows/s": len(made) / bulk, **figures}


def sample_facts(made: Sequence[Fact]) -> list[Fact]:
    """Return a fixed random sample of facts to ask for."""
    return [made[number] for number in random.Random(3).sample(range(len(made)), QUESTIONS)]


def measure_recall(
    made: Sequence[Fact], ask: SearchFunction, clock: Callable[[], float] = time.thread_time
) -> dict[str, float]:
    """Return the query times, and how often the right sentence was first or among the first five."""
    took: list[float] = []
    shares: dict[str, float] = {}
    for sort in QUESTION_KINDS:
        first = among = 0
        for fact in sample_facts(made):
            began = clock()
            found = ask(getattr(fact, sort))
            took.append((clock() - began) * 1000)
            first += found[:1] == [fact.text]
            among += fact.text in found
        shares |= {f"{sort} @1": first / QUESTIONS, f"{sort} @5": among / QUESTIONS}
    return {"p50 ms": percentile(took, 0.5), "p95 ms": percentile(took, 0.95), **shares}
