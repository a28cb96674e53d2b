"""Access to the memories in the data file. Writes use the writing connection, reads a connection of their own."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

from core.domain.memory import MemoryContent
from core.store.data_file import DataFile
from core.store.database import Database, WriteJob, to_problem
from core.store.embedding_store import EmbeddingStore, UnembeddedMemory
from core.store.memory_records import IndexTerms, MemoryRecords
from core.store.migrate import migrate
from core.store.run_reader import RunReader

T = TypeVar("T")


class MemoryStore:
    """Reads and writes memories. It may be used from one event loop only.

    `index` computes the index terms of a memory.
    """

    def __init__(
        self,
        path: Path,
        database: Database | None,
        index: Callable[[MemoryContent], IndexTerms],
        *,
        frozen: bool = False,
    ) -> None:
        self.database = database
        self._file = DataFile(path, database, frozen=frozen)
        self._index = index
        self._reading: sqlite3.Connection | None = None
        self._listeners: list[Callable[[], None]] = []

    @property
    def path(self) -> Path:
        return self._file.path

    def listen(self, listener: Callable[[], None]) -> None:
        """Call `listener` after each write."""
        self._listeners.append(listener)

    def records(self, db: sqlite3.Connection) -> MemoryRecords:
        """Return access to the memories through the caller's connection."""
        return MemoryRecords(db, self._index)

    async def write(self, work: Callable[[MemoryRecords], T]) -> T:
        """Run `work` in one transaction on the writing thread."""
        result = await self._file.writer.run(lambda db: work(self.records(db)))
        self._notify()
        return result

    def _notify(self) -> None:
        for listener in tuple(self._listeners):
            listener()

    def read(self, work: Callable[[MemoryRecords], T]) -> T:
        """Run `work` on the reading connection."""
        return self._run_read(lambda db: work(self.records(db)))

    @contextmanager
    def scratch(self) -> Iterator[MemoryRecords]:
        """Yield access to an empty database in memory, in which new memories can be compared with each other."""
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
            migrate(db)
            db.execute("BEGIN")
            yield self.records(db)

    def _run_read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            if self._reading is None:
                self._reading = self._file.connect()
            return work(self._reading)
        except sqlite3.Error as error:
            raise to_problem(error) from error

    def write_in_background(
        self, work: Callable[[MemoryRecords, RunReader], object], on_done: Callable[[BaseException | None], None]
    ) -> None:
        """Run `work` on the writing thread without waiting. `on_done` receives the error, or None after success."""
        if self.database is None:
            return

        def finished(_: object, error: BaseException | None) -> None:
            on_done(error)
            self._notify()

        database = self.database

        def write(db: sqlite3.Connection) -> object:
            database.derived.write(db)
            return work(self.records(db), RunReader(db))

        database.submit(WriteJob(write, finished, asyncio.get_running_loop()))

    def read_runs(self, work: Callable[[RunReader], T]) -> T:
        """Run `work`, which reads session data, on the reading connection."""
        self._file.catch_up()
        return self._run_read(lambda db: work(RunReader(db)))

    def read_embeddings(self, work: Callable[[EmbeddingStore], T]) -> T:
        """Run `work`, which reads embeddings, on the reading connection."""
        return self._run_read(lambda db: work(EmbeddingStore(db)))

    async def save_embeddings(self, model: str, embeddings: Sequence[tuple[UnembeddedMemory, bytes]], at: int) -> None:
        """Save embeddings made by `model`; if the data folder is read-only, do nothing."""
        if self.database is not None:
            await self.database.run(lambda db: EmbeddingStore(db).save(model, embeddings, at))

    def close(self) -> None:
        if self._reading:
            self._reading.close()
            self._reading = None
