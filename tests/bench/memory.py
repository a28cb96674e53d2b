"""Memory beside plain full-text search: how fast it is written and asked, and how often the right sentence is first."""

import asyncio
import random
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from core.domain.memory import Said
from core.memory.index import indexed
from core.memory.keep import Source
from core.memory.memory import BATCH, EVERYWHERE, Memories
from core.store.database import Database, connect
from core.store.memory_book import MemoryBook
from tests.bench.bench import Figure, percentile, scratch
from tests.bench.facts import Fact, facts

KEPT = 50  # one after the other
SIZES = (1_000, 10_000, 100_000)
ASKED = 100
SORTS = ("exact", "inflected", "paraphrase")
P95_MS, BULK, ONE_MS = 10.0, 20_000, 1.0

TABLES = ("memory", "memory_version")
WORDS = 17  # the column of a memory that is indexed; what stands around it is the next

Ask = Callable[[str], Sequence[str]]


def memory() -> Iterator[Figure]:
    """For each size: ours, then plain FTS5 on the same sentences and questions, then SQLite alone with our rows."""
    for size in SIZES:
        made = facts(size)
        with scratch() as folder:
            own = asyncio.run(ours(folder, made))
            floor, bare = plain(folder, made), rows_alone(folder)
        fast = own["p95 ms"] <= P95_MS and own["rows/s"] >= BULK and own["one ms"] <= ONE_MS
        right = all(own[f"{sort} {n}"] >= floor[f"{sort} {n}"] for sort in SORTS[:2] for n in ("@1", "@5"))
        goal = f"p95 ≤ {P95_MS:g} ms, ≥ {BULK:,} rows/s, one ≤ {ONE_MS:g} ms, not below FTS5 in exact and inflected"
        yield Figure(f"{size:,} ours", own, goal, fast and right)
        yield Figure(f"{size:,} FTS5", floor)
        yield Figure(f"{size:,} SQLite", bare)


async def ours(folder: Path, made: Sequence[Fact]) -> dict[str, float]:
    """Times are of the processor's work, except where it says wall: other programs share the machine."""
    database = Database(folder / "ours.db")
    book = MemoryBook(folder / "ours.db", database, indexed)
    memories = Memories(book)
    try:
        said = [(Said("knowledge", fact.text), Source("import")) for fact in made]
        began = time.process_time()
        await memories.add_all(said)
        bulk = time.process_time() - began
        began, began_at = time.process_time(), time.perf_counter()
        for number in range(KEPT):
            await memories.keep(
                Said("knowledge", f"The spare part {number} lies in drawer {number * 7}."), Source("agent")
            )
        one, one_wall = (time.process_time() - began) / KEPT, (time.perf_counter() - began_at) / KEPT

        def ask(question: str) -> list[str]:
            return [found.memory.said.text for found in memories.find(question, wanted=[EVERYWHERE], most=5)]

        figures = asked(made, ask)
    finally:
        book.close()
        database.close()
    return {"rows/s": len(made) / bulk, "one ms": one * 1000, "one wall ms": one_wall * 1000, **figures}


def rows_alone(folder: Path) -> dict[str, float]:
    """What of that is SQLite's and the disk's: the very rows of ours, in as many transactions, as durable."""
    source = sqlite3.connect(folder / "ours.db")
    every = [source.execute(f"SELECT * FROM {table} ORDER BY rowid").fetchall() for table in TABLES]
    source.close()
    db = connect(folder / "rows.db", "FULL")

    def write(start: int, end: int) -> None:
        db.execute("BEGIN IMMEDIATE")
        for table, rows in zip(TABLES, every, strict=True):
            db.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows[start:end])
        texts = [(row[0], row[WORDS], row[WORDS + 1]) for row in every[0][start:end]]
        db.executemany("INSERT INTO search_memory (rowid, words, around) VALUES (?, ?, ?)", texts)
        db.execute("COMMIT")

    several = len(every[0]) - KEPT
    began = time.process_time()
    for start in range(0, several, BATCH):
        write(start, min(start + BATCH, several))
    bulk = time.process_time() - began
    began, began_at = time.process_time(), time.perf_counter()
    for start in range(several, several + KEPT):
        write(start, start + 1)
    one, one_wall = (time.process_time() - began) / KEPT, (time.perf_counter() - began_at) / KEPT
    db.close()
    return {"rows/s": several / bulk, "one ms": one * 1000, "one wall ms": one_wall * 1000}


def plain(folder: Path, made: Sequence[Fact]) -> dict[str, float]:
    """An index with the stemmer that SQLite brings; a question is any of its words."""
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

    figures = asked(made, ask)
    db.close()
    return {"rows/s": len(made) / bulk, **figures}


def chosen(made: Sequence[Fact]) -> list[Fact]:
    """Those that are asked for."""
    return [made[number] for number in random.Random(3).sample(range(len(made)), ASKED)]


def asked(made: Sequence[Fact], ask: Ask, clock: Callable[[], float] = time.thread_time) -> dict[str, float]:
    """How long an answer takes, and how often it is the right one."""
    took: list[float] = []
    shares: dict[str, float] = {}
    for sort in SORTS:
        first = among = 0
        for fact in chosen(made):
            began = clock()
            found = ask(getattr(fact, sort))
            took.append((clock() - began) * 1000)
            first += found[:1] == [fact.text]
            among += fact.text in found
        shares |= {f"{sort} @1": first / ASKED, f"{sort} @5": among / ASKED}
    return {"p50 ms": percentile(took, 0.5), "p95 ms": percentile(took, 0.95), **shares}
