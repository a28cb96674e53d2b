"""The memories of a data file: written on the one connection that writes, read beside it."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

from core.domain.memory import Said
from core.domain.problems import Problem
from core.store.database import Database, Job, problem_of
from core.store.memory_rows import Indexed, MemoryRows
from core.store.memory_runs import RunFacts
from core.store.migrate import migrate
from core.store.vectors import Lacking, Vectors

T = TypeVar("T")


class MemoryBook:
    """Lives on one loop. `index` says what is indexed of a memory."""

    def __init__(
        self, path: Path, database: Database | None, index: Callable[[Said], Indexed], *, frozen: bool = False
    ) -> None:
        self.path = path
        self.database = database
        self._index = index
        self._flags = "immutable=1" if frozen else "mode=ro"
        self._reading: sqlite3.Connection | None = None
        self.changed: Callable[[], None] = lambda: None  # called after each write

    def rows(self, db: sqlite3.Connection) -> MemoryRows:
        """On a connection that somebody else holds."""
        return MemoryRows(db, self._index)

    async def write(self, work: Callable[[MemoryRows], T]) -> T:
        """Do it in one transaction, on the thread that writes."""
        if self.database is None:
            raise Problem("The data folder cannot be written.", "It was opened to look at.", "")
        done = await self.database.do(lambda db: work(self.rows(db)))
        self.changed()
        return done

    def read(self, work: Callable[[MemoryRows], T]) -> T:
        """Look at what is there."""
        return self._look(lambda db: work(self.rows(db)))

    @contextmanager
    def apart(self) -> Iterator[MemoryRows]:
        """An empty one, held nowhere but here."""
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
            migrate(db)
            db.execute("BEGIN")
            yield self.rows(db)

    def _look(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            if self._reading is None:
                uri = f"{self.path.absolute().as_uri()}?{self._flags}"
                self._reading = sqlite3.connect(uri, uri=True, isolation_level=None)
            return work(self._reading)
        except sqlite3.Error as error:
            raise problem_of(error) from error

    def later(
        self, work: Callable[[MemoryRows, RunFacts], object], done: Callable[[BaseException | None], None]
    ) -> None:
        """Do it on the thread that writes, without anybody waiting; `done` is told the error, if there was one."""
        if self.database is None:
            return

        def told(_: object, error: BaseException | None) -> None:
            done(error)
            self.changed()

        job = Job(lambda db: work(self.rows(db), RunFacts(db)), told, asyncio.get_running_loop())
        self.database.put(job)

    def facts(self, work: Callable[[RunFacts], T]) -> T:
        """Look at what the sessions say."""
        return self._look(lambda db: work(RunFacts(db)))

    def vectors(self, work: Callable[[Vectors], T]) -> T:
        """Look at what memories mean."""
        return self._look(lambda db: work(Vectors(db)))

    async def put_vectors(self, model: str, made: Sequence[tuple[Lacking, bytes]], at: int) -> None:
        """Note what memories mean, as a model told it."""
        if self.database is not None:
            await self.database.do(lambda db: Vectors(db).put(model, made, at))

    def close(self) -> None:
        if self._reading:
            self._reading.close()
            self._reading = None
