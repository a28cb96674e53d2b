"""Creates memories for tests, in a real data file and with a clock that the test controls."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from core.domain.ids import memory_id
from core.domain.memory import DAY, MemoryAuthor, MemoryContent, MemoryKind, MemoryScope
from core.memory.index_terms import index_terms
from core.memory.memories import Memories
from core.memory.saving import MemorySource, SaveResult
from core.store.database import Database
from core.store.memory_records import MemoryRecords
from core.store.memory_store import MemoryStore

T = TypeVar("T")
BATCH = 2_000  # memories in one transaction
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


async def add_all(memories: Memories, contents: Iterable[tuple[MemoryContent, MemorySource]], at: int = START) -> None:
    """Add many new memories without comparing them with stored ones."""
    pairs = list(contents)
    ids = sorted(memory_id() for _ in pairs)  # IDs in ascending order are appended to the index faster.
    changes = [
        source.change(new_id, 1, at, "created", content) for new_id, (content, source) in zip(ids, pairs, strict=True)
    ]
    for start in range(0, len(changes), BATCH):
        await memories.store.write(partial(MemoryRecords.add_all, changes=changes[start : start + BATCH]))


def with_memories(work: Callable[[Memories], T], folder: Path) -> T:
    """Open the memories, run `work` and close them."""
    with memories_at(folder) as memories:
        return work(memories)
