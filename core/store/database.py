"""The one connection that writes, on a thread of its own: waiting jobs share a transaction and one sync."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from core.domain.problems import Problem
from core.store.migrate import migrate, refuse_foreign

T = TypeVar("T")
BATCH = 256


@dataclass(frozen=True, slots=True)
class Job:
    """Work for the connection. `done` is called on the loop that asked, with the result or the error."""

    work: Callable[[sqlite3.Connection], Any]
    done: Callable[[Any, BaseException | None], None]
    loop: asyncio.AbstractEventLoop
    alone: bool = False


class Database:
    """Opens `path` at once (raising Problem in words) and writes until `close`.

    Attributes:
        undone: called on the writing thread after a rollback, so that caches forget what did not happen.
        relieve: called on the writing thread when the disk is full; true when it could free some room.
    """

    def __init__(self, path: Path, *, synchronous: str = "FULL") -> None:
        self.path = path
        self.undone: Callable[[], None] = lambda: None
        self.relieve: Callable[[], bool] = lambda: False
        self._synchronous = synchronous
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._held: list[Job | None] = []
        opened: Future[None] = Future()
        self._thread = threading.Thread(target=self._write, args=(opened,), name="store", daemon=True)
        self._thread.start()
        try:
            opened.result()
        except BaseException:
            self._thread.join()
            raise

    async def do(self, work: Callable[[sqlite3.Connection], T], *, alone: bool = False) -> T:
        """Run `work` in a transaction, or outside of any when `alone`."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def done(result: T, error: BaseException | None) -> None:
            if future.cancelled():
                return
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

        self.put(Job(work, done, loop, alone))
        return await future

    def put(self, job: Job) -> None:
        self._jobs.put(job)

    def close(self) -> None:
        """Finish what waits, then let go of the file."""
        self._jobs.put(None)
        self._thread.join()

    def _write(self, opened: Future[None]) -> None:
        try:
            db = connect(self.path, self._synchronous)
        except BaseException as error:
            opened.set_exception(error)
            return
        opened.set_result(None)
        try:
            self._work(db)
        finally:
            db.close()

    def _work(self, db: sqlite3.Connection) -> None:
        while job := self._next():
            if job.alone:
                self._finish([(job, *self._attempt(db, job))])
            else:
                self._commit(db, [job, *self._company()])

    def _next(self) -> Job | None:
        return self._held.pop() if self._held else self._jobs.get()

    def _company(self) -> Iterator[Job]:
        """The jobs that wait already and may share a transaction."""
        for _ in range(BATCH):
            try:
                job = self._jobs.get_nowait()
            except Empty:
                return
            if job is None or job.alone:
                self._held.append(job)
                return
            yield job

    def _commit(self, db: sqlite3.Connection, batch: list[Job]) -> None:
        """All of a batch in one transaction; when one spoils it, each alone, so that no other pays for it."""
        if not batch:
            return
        try:
            results = self._together(db, batch)
        except Exception as error:
            if full(error) and self.relieve():
                self._commit(db, batch)
            elif len(batch) > 1:
                for job in batch:
                    self._commit(db, [job])
            else:
                self._finish([(batch[0], None, problem_of(error))])
        else:
            self._finish([(job, result, None) for job, result in zip(batch, results, strict=True)])

    def _together(self, db: sqlite3.Connection, batch: list[Job]) -> list[Any]:
        try:
            db.execute("BEGIN IMMEDIATE")
            results = [job.work(db) for job in batch]
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            self.undone()
            raise
        return results

    def _attempt(self, db: sqlite3.Connection, job: Job) -> tuple[Any, BaseException | None]:
        try:
            return job.work(db), None
        except Exception as error:
            return None, problem_of(error)

    def _finish(self, ends: list[tuple[Job, Any, BaseException | None]]) -> None:
        """Tell the loops, one wake each, in the order of the commits."""
        by_loop: dict[asyncio.AbstractEventLoop, list[tuple[Job, Any, BaseException | None]]] = {}
        for end in ends:
            by_loop.setdefault(end[0].loop, []).append(end)
        for loop, told in by_loop.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(_tell, told)


def _tell(ends: list[tuple[Job, Any, BaseException | None]]) -> None:
    for job, result, error in ends:
        job.done(result, error)


def connect(path: Path, synchronous: str) -> sqlite3.Connection:
    """Open for writing, in the newest form."""
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        refuse_foreign(db)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(f"PRAGMA synchronous = {synchronous}")
        db.execute("PRAGMA foreign_keys = 1")
        migrate(db)
    except BaseException as error:
        db.close()
        if isinstance(error, sqlite3.Error):
            raise problem_of(error) from error
        raise
    return db


def full(error: BaseException) -> bool:
    """Is the disk full? A full disk refuses even to delete."""
    return isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorname", "").startswith("SQLITE_FULL")


def problem_of(error: BaseException) -> BaseException:
    """What SQLite says, in words; bugs stay what they are."""
    name = getattr(error, "sqlite_errorname", "") if isinstance(error, sqlite3.Error) else ""
    for start, (what, do) in WORDS.items():
        if name.startswith(start):
            return Problem(what, f"{error}.", do)
    return error


WORDS = {
    "SQLITE_FULL": ("The disk is full.", "Free some space, then try again. What was shown is saved."),
    "SQLITE_READONLY": ("The data folder cannot be written.", "Give yourself the right to write there, or use --home."),
    "SQLITE_CANTOPEN": (
        "The data file cannot be opened.",
        "Check that the folder exists and that you may write there.",
    ),
    "SQLITE_IOERR": ("The disk reported an error.", "Check the disk. What was shown before is saved."),
    "SQLITE_NOTADB": ("The data file is damaged.", "Restore a backup with `journeyman backup --restore`."),
    "SQLITE_CORRUPT": ("The data file is damaged.", "Restore a backup with `journeyman backup --restore`."),
    "SQLITE_BUSY": ("Another program holds the data file.", "Close it and try again."),
}
