"""The one connection that writes, on a thread of its own: waiting jobs share a transaction and one sync."""

import asyncio
import contextlib
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, TypeVar

from core.domain.problems import Problem
from core.store.backup import back_up_before
from core.store.files import crammed, no_room, size_of, touch_private, unwritable
from core.store.health import is_damage, peek
from core.store.migrate import migrate, newest, refuse_foreign, version

T = TypeVar("T")
BATCH = 256


class Job(NamedTuple):
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
        recover: called on the writing thread after a commit that follows a relief; true when there is room again.
        closed: called on the writing thread at the end, told whether the file was whole all the while; true when it
            could note that nothing waits in the log. Otherwise it is called once more after the file was let go of.
    """

    def __init__(self, path: Path, *, synchronous: str = "FULL") -> None:
        self.path = path
        self.undone: Callable[[], None] = lambda: None
        self.relieve: Callable[[], bool] = lambda: False
        self.recover: Callable[[], bool] = lambda: True
        self.closed: Callable[[bool], bool] = lambda whole: True
        self._relieved = False
        self._damaged = False
        self._ended = False
        self._synchronous = synchronous
        self._turns: dict[asyncio.AbstractEventLoop, list[Job | None]] = {}
        self._turning = threading.Lock()
        self._jobs: SimpleQueue[list[Job | None]] = SimpleQueue()
        self._held: deque[Job | None] = deque()  # of the writing thread
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
        """For the running loop. What is put in one turn of it shares a transaction: nobody waited in between."""
        with self._turning:
            first = job.loop not in self._turns
            self._turns.setdefault(job.loop, []).append(job)
        if first:
            job.loop.call_soon(self._send, job.loop)

    def _send(self, loop: asyncio.AbstractEventLoop) -> None:
        """What was put in this turn of a loop is the writing thread's."""
        with self._turning:
            self._jobs.put(self._turns.pop(loop, []))
        if self._ended:
            self._turn_away()

    def close(self) -> None:
        """Finish what waits, then let go of the file. A second time does nothing."""
        if self._ended:
            return
        for loop in tuple(self._turns):
            self._send(loop)
        self._jobs.put([None])
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
            with contextlib.suppress(sqlite3.Error):  # a full disk: the log stays, and is read at the next start
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            noted = self.closed(not self._damaged)
            db.close()
            if not noted:  # letting go has tried once more to empty the log
                self.closed(not self._damaged)
            self._ended = True
            self._turn_away()

    def _turn_away(self) -> None:
        """Jobs that came after the end are told so; nobody waits for ever."""
        closed = Problem("The data file is closed.", "Journeyman is ending.", "Start it again.")
        with contextlib.suppress(Empty):
            while True:
                self._finish([(job, None, closed) for job in self._jobs.get_nowait() if job])

    def _work(self, db: sqlite3.Connection) -> None:
        while job := self._next():
            if job.alone:
                self._finish([(job, *self._attempt(db, job))])
            else:
                self._commit(db, [job, *self._company()])

    def _next(self) -> Job | None:
        while not self._held:
            self._held.extend(self._jobs.get())
        return self._held.popleft()

    def _company(self) -> Iterator[Job]:
        """The jobs that wait already and may share a transaction."""
        for _ in range(BATCH):
            while not self._held:
                try:
                    self._held.extend(self._jobs.get_nowait())
                except Empty:
                    return
            job = self._held[0]
            if job is None or job.alone:
                return
            self._held.popleft()
            yield job

    def _commit(self, db: sqlite3.Connection, batch: list[Job]) -> None:
        """All of a batch in one transaction; when one spoils it, each alone, so that no other pays for it."""
        if not batch:
            return
        try:
            results = self._together(db, batch)
        except Exception as error:
            self._damaged = self._damaged or is_damage(error)
            if full(error, self.path.parent) and self.relieve():
                self._relieved = True
                self._commit(db, batch)
            elif len(batch) > 1:
                for job in batch:
                    self._commit(db, [job])
            else:
                self._finish([(batch[0], None, problem_of(error, self.path.parent))])
        else:
            self._finish([(job, result, None) for job, result in zip(batch, results, strict=True)])
            self._relieved = self._relieved and not self.recover()

    def _together(self, db: sqlite3.Connection, batch: list[Job]) -> list[Any]:
        try:
            self._still_there()
            db.execute("BEGIN IMMEDIATE")
            results = [job.work(db) for job in batch]
            db.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):  # SQLite rolls back by itself at its worst errors
                if db.in_transaction:
                    db.execute("ROLLBACK")
            self.undone()
            raise
        return results

    def _still_there(self) -> None:
        """SQLite would go on writing to a file that has no name any more."""
        if not self.path.exists():
            raise Problem(
                "The data file was removed while Journeyman was open.",
                f"{self.path} is gone.",
                "Put it back, or end Journeyman and restore a backup. Nothing more is saved.",
            )

    def _attempt(self, db: sqlite3.Connection, job: Job) -> tuple[Any, BaseException | None]:
        try:
            return job.work(db), None
        except Exception as error:
            return None, problem_of(error, self.path.parent)

    def _finish(self, ends: list[tuple[Job, Any, BaseException | None]]) -> None:
        """Tell the loops, one wake each, in the order of the commits."""
        by_loop: dict[asyncio.AbstractEventLoop, list[tuple[Job, Any, BaseException | None]]] = {}
        for end in ends:
            by_loop.setdefault(end[0].loop, []).append(end)
        for loop, told in by_loop.items():
            with contextlib.suppress(RuntimeError):  # the loop has ended, and nobody listens
                loop.call_soon_threadsafe(_tell, told)


def _tell(ends: list[tuple[Job, Any, BaseException | None]]) -> None:
    for job, result, error in ends:
        job.done(result, error)


def connect(path: Path, synchronous: str) -> sqlite3.Connection:
    """Open for writing, in the newest form; a file of an older form is copied first."""
    try:
        if size_of(path):
            with contextlib.closing(peek(path)) as first:  # closing a connection that writes would change the file
                refuse_foreign(first)
        touch_private(path)
    except OSError as error:
        raise unwritable(path.parent, error) from error
    except sqlite3.Error as error:
        raise problem_of(error, path.parent) from error
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(f"PRAGMA synchronous = {synchronous}")
        if 0 < version(db) < newest():
            back_up_before(path, newest())
        migrate(db)
        db.execute("PRAGMA foreign_keys = 1")
    except BaseException as error:
        db.close()
        if isinstance(error, sqlite3.Error):
            raise problem_of(error, path.parent) from error
        raise
    return db


def full(error: BaseException | None, folder: Path) -> bool:
    """Is the disk full? A full disk refuses even to delete; where its index cannot grow, SQLite blames the disk."""
    name = _name_of(error)
    return no_room(error) or name.startswith("SQLITE_FULL") or (name.startswith("SQLITE_IOERR") and crammed(folder))


def _name_of(error: BaseException | None) -> str:
    return getattr(error, "sqlite_errorname", "") if isinstance(error, sqlite3.Error) else ""


def problem_of(error: BaseException, folder: Path | None = None) -> BaseException:
    """What SQLite says, in words; bugs stay what they are. In a `folder` on a full disk it may have other words."""
    name = "SQLITE_FULL" if folder and full(error, folder) else _name_of(error)
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
