"""Memories for tests: on a real file, with a clock that a test turns."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from core.domain.memory import DAY, Author, Kind, Reach, Said
from core.memory.index import indexed
from core.memory.keep import Kept, Source
from core.memory.memory import Memories
from core.store.database import Database
from core.store.memory_book import MemoryBook

T = TypeVar("T")
START = 1_700_000_000_000_000


@dataclass(slots=True)
class Days:
    """A clock that stands still until it is turned."""

    at: int = START

    def __call__(self) -> int:
        return self.at

    def pass_by(self, days: float) -> None:
        self.at += int(days * DAY)


@contextmanager
def memories_at(folder: Path, clock: Days | None = None, *, quick: bool = False) -> Iterator[Memories]:
    """What is remembered in a folder; where it is quick, a power cut could lose it."""
    database = Database(folder / "journeyman.db", synchronous="OFF" if quick else "FULL")
    book = MemoryBook(folder / "journeyman.db", database, indexed)
    try:
        yield Memories(book, clock or Days())
    finally:
        book.close()
        database.close()


def done(work: Awaitable[T]) -> T:
    """Run it to its end."""

    async def main() -> T:
        return await work

    return asyncio.run(main())


def keep(
    memories: Memories, text: str, kind: Kind = "knowledge", by: Author = "agent", reach: Reach = "everywhere",
    place: str = "", session: str = "",
) -> Kept:  # fmt: skip
    """Keep a sentence."""
    return done(memories.keep(Said(kind, text, reach, place), Source(by, session)))


def within(work: Callable[[Memories], T], folder: Path) -> T:
    """Open, work, close."""
    with memories_at(folder) as memories:
        return work(memories)
