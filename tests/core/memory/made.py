"""Creates memories for tests, in a real data file and with a clock that the test controls."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from core.domain.memory import DAY, MemoryAuthor, MemoryContent, MemoryKind, MemoryScope
from core.memory.index_terms import index_terms
from core.memory.memories import Memories
from core.memory.saving import MemorySource, SaveResult
from core.store.database import Database
from core.store.memory_store import MemoryStore

T = TypeVar("T")
START = 1_700_000_000_000_000


@dataclass(slots=True)
class ManualClock:
    """A clock that only advances when a test says so."""

    at: int = START

    def __call__(self) -> int:
        return self.at

    def pass_by(self, days: float) -> None:
        self.at += int(days * DAY)


@contextmanager
def memories_at(folder: Path, clock: ManualClock | None = None, *, quick: bool = False) -> Iterator[Memories]:
    """Yield the memories of a folder. If `quick` is set, writes are not synced to the disk."""
    database = Database(folder / "journeyman.db", synchronous="OFF" if quick else "FULL")
    book = MemoryStore(folder / "journeyman.db", database, index_terms)
    try:
        yield Memories(book, clock or ManualClock())
    finally:
        book.close()
        database.close()


def run_now(work: Awaitable[T]) -> T:
    """Run a coroutine to completion and return its result."""

    async def main() -> T:
        return await work

    return asyncio.run(main())


def save_memory(
    memories: Memories,
    text: str,
    kind: MemoryKind = "knowledge",
    by: MemoryAuthor = "agent",
    reach: MemoryScope = "everywhere",
    place: str = "",
    session: str = "",
) -> SaveResult:
    """Save a sentence as a memory."""
    return run_now(memories.save(MemoryContent(kind, text, reach, place), MemorySource(by, session)))


def with_memories(work: Callable[[Memories], T], folder: Path) -> T:
    """Open the memories, run `work` and close them."""
    with memories_at(folder) as memories:
        return work(memories)
