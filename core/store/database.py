"""The single writing SQLite connection, on its own thread. Queued jobs are committed in batches, one sync per batch."""

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

from core.domain.problems import Problem, StorageProblem
from core.store.backup import back_up_before_migration
from core.store.files import file_size, is_nearly_full, is_no_space_error, touch_private, unwritable_folder
from core.store.health import REPAIR_ADVICE, is_corruption, open_read_only
from core.store.migrate import check_compatible, latest_version, migrate, schema_version

T = TypeVar("T")
MAX_BATCH_JOBS = 256


class WriteJob(NamedTuple):
    """A unit of work for the writing connection.

    `work` gets the connection. `done` is called on `loop` with the result and the error, one of which is None. A job
    with `no_transaction` runs outside any transaction.
    """

    work: Callable[[sqlite3.Connection], Any]
    done: Callable[[Any, BaseException | None], None]
    loop: asyncio.AbstractEventLoop
    no_transaction: bool = False


class Database:
    """The writing connection, open from construction until `close`. The constructor raises Problem if it fails.

    Attributes:
        on_rollback: called on the writing thread after a rollback, so that caches can discard uncommitted state.
        on_disk_full: called on the writing thread when the disk is full; returns whether it freed any space.
        on_space_freed: called on the writing thread after a successful commit that follows `on_disk_full`; returns
            whether the reserved space is available again.
        on_closed: called on the writing thread at the end with a flag that is false if corruption was ever detected. It
            returns whether it could record a clean shutdown; if not, it is called a second time after the connection is
            closed.
    """

    def __init__(self, path: Path, *, synchronous: str = "FULL") -> None:
        self.path = path
        self.on_rollback: Callable[[], None] = lambda: None
        self.on_disk_full: Callable[[], bool] = lambda: False
        self.on_space_freed: Callable[[], bool] = lambda: True
        self.on_closed: Callable[[bool], bool] = lambda undamaged: True
        self._relieved = False
        self._damaged = False
        self._ended = False
        self._synchronous = synchronous
        self._submitted: dict[asyncio.AbstractEventLoop, list[WriteJob | None]] = {}
        self._submit_lock = threading.Lock()
        self._jobs: SimpleQueue[list[WriteJob | None]] = SimpleQueue()
        self._taken: deque[WriteJob | None] = deque()  # used on the writing thread only
        opened: Future[None] = Future()
        self._thread = threading.Thread(target=self._write, args=(opened,), name="store", daemon=True)
        self._thread.start()
        try:
            opened.result()
        except BaseException:
            self._thread.join()
            raise

    async def run(self, work: Callable[[sqlite3.Connection], T], *, no_transaction: bool = False) -> T:
        """Run `work` in a transaction, or outside any transaction if `no_transaction` is set, and return its result."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def on_done(result: T, error: BaseException | None) -> None:
            if future.cancelled():
                return
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

        self.submit(WriteJob(work, on_done, loop, no_transaction))
        return await future

    def submit(self, job: WriteJob) -> None:
        """Queue a job from the running loop. Jobs queued in the same loop iteration share a transaction."""
        with self._submit_lock:
            first = job.loop not in self._submitted
            self._submitted.setdefault(job.loop, []).append(job)
        if first:
            job.loop.call_soon(self._send, job.loop)

    def _send(self, loop: asyncio.AbstractEventLoop) -> None:
        """Hand the jobs of one loop iteration to the writing thread."""
        with self._submit_lock:
            self._jobs.put(self._submitted.pop(loop, []))
        if self._ended:
            self._fail_pending()

    def wait_until_written(self, timeout_s: float) -> bool:
        """Wait until every job submitted so far is committed, and return whether that is so. Any thread may call it."""
        if self._ended:
            return True
        committed = threading.Event()
        for loop in tuple(self._submitted):  # The loops may be blocked, and then they would not send their jobs.
            self._send(loop)
        loop = asyncio.new_event_loop()
        loop.close()
        self._jobs.put([WriteJob(lambda _: committed.set(), lambda *_: None, loop, no_transaction=True)])
        return committed.wait(timeout_s)

    def close(self) -> None:
        """Finish the queued jobs, then close the file. Closing it again does nothing."""
        if self._ended:
            return
        for loop in tuple(self._submitted):
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
            self._run_jobs(db)
        finally:
            with contextlib.suppress(sqlite3.Error):  # On a full disk the WAL stays and is recovered at the next start.
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            recorded = self.on_closed(not self._damaged)
            db.close()
            if not recorded:  # Closing the connection has tried the checkpoint once more.
                self.on_closed(not self._damaged)
            self._ended = True
            self._fail_pending()

    def _fail_pending(self) -> None:
        """Fail the jobs that arrived after the connection was closed, so that no caller waits forever."""
        closed = Problem("The data file is closed.", "Journeyman is shutting down.", "Start Journeyman again.")
        with contextlib.suppress(Empty):
            while True:
                self._finish([(job, None, closed) for job in self._jobs.get_nowait() if job])

    def _run_jobs(self, db: sqlite3.Connection) -> None:
        while job := self._next():
            if job.no_transaction:
                self._finish([(job, *self._attempt(db, job))])
            else:
                self._commit(db, [job, *self._more_jobs()])

    def _next(self) -> WriteJob | None:
        while not self._taken:
            self._taken.extend(self._jobs.get())
        return self._taken.popleft()

    def _more_jobs(self) -> Iterator[WriteJob]:
        """Yield the queued jobs that may share the current transaction, up to MAX_BATCH_JOBS."""
        for _ in range(MAX_BATCH_JOBS):
            while not self._taken:
                try:
                    self._taken.extend(self._jobs.get_nowait())
                except Empty:
                    return
            job = self._taken[0]
            if job is None or job.no_transaction:
                return
            self._taken.popleft()
            yield job

    def _commit(self, db: sqlite3.Connection, batch: list[WriteJob]) -> None:
        """Commit a batch in one transaction. If that fails, retry each job alone, so that only the faulty job fails."""
        if not batch:
            return
        try:
            results = self._run_batch(db, batch)
        except Exception as error:
            self._damaged = self._damaged or is_corruption(error)
            if is_disk_full(error, self.path.parent) and self.on_disk_full():
                self._relieved = True
                self._commit(db, batch)
            elif len(batch) > 1:
                for job in batch:
                    self._commit(db, [job])
            else:
                self._finish([(batch[0], None, to_problem(error, self.path.parent))])
        else:
            self._finish([(job, result, None) for job, result in zip(batch, results, strict=True)])
            self._relieved = self._relieved and not self.on_space_freed()

    def _run_batch(self, db: sqlite3.Connection, batch: list[WriteJob]) -> list[Any]:
        try:
            self._check_exists()
            db.execute("BEGIN IMMEDIATE")
            results = [job.work(db) for job in batch]
            db.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):  # SQLite rolls back on its own after severe errors.
                if db.in_transaction:
                    db.execute("ROLLBACK")
            self.on_rollback()
            raise
        return results

    def _check_exists(self) -> None:
        """Raise Problem if the file was deleted: SQLite would keep writing to the unlinked file."""
        if not self.path.exists():
            raise Problem(
                "The data file was removed while Journeyman was open.",
                f"{self.path} no longer exists.",
                "Move the file back, or quit Journeyman and restore a backup. Until then, nothing is saved.",
            )

    def _attempt(self, db: sqlite3.Connection, job: WriteJob) -> tuple[Any, BaseException | None]:
        try:
            return job.work(db), None
        except Exception as error:
            return None, to_problem(error, self.path.parent)

    def _finish(self, ends: list[tuple[WriteJob, Any, BaseException | None]]) -> None:
        """Report results to the loops in commit order, waking each loop once."""
        by_loop: dict[asyncio.AbstractEventLoop, list[tuple[WriteJob, Any, BaseException | None]]] = {}
        for end in ends:
            by_loop.setdefault(end[0].loop, []).append(end)
        for loop, ended in by_loop.items():
            with contextlib.suppress(RuntimeError):  # The loop is closed.
                loop.call_soon_threadsafe(_deliver, ended)


def _deliver(ends: list[tuple[WriteJob, Any, BaseException | None]]) -> None:
    for job, result, error in ends:
        job.done(result, error)


def connect(path: Path, synchronous: str) -> sqlite3.Connection:
    """Open the file for writing and migrate it to the latest schema, after a backup if it has an older one."""
    try:
        if file_size(path):
            with contextlib.closing(
                open_read_only(path)
            ) as first:  # Closing a writable connection would modify the file.
                check_compatible(first)
        touch_private(path)
    except OSError as error:
        raise unwritable_folder(path.parent, error) from error
    except sqlite3.Error as error:
        raise to_problem(error, path.parent) from error
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(f"PRAGMA synchronous = {synchronous}")
        if 0 < schema_version(db) < latest_version():
            back_up_before_migration(path, latest_version())
        migrate(db)
        db.execute("PRAGMA foreign_keys = 1")
    except BaseException as error:
        db.close()
        if isinstance(error, sqlite3.Error):
            raise to_problem(error, path.parent) from error
        raise
    return db


def is_disk_full(error: BaseException | None, folder: Path) -> bool:
    """Return whether the disk is full.

    A full disk also refuses deletions, and SQLite reports SQLITE_IOERR instead of SQLITE_FULL if its WAL index cannot
    grow.
    """
    name = _name_of(error)
    return (
        is_no_space_error(error)
        or name.startswith("SQLITE_FULL")
        or (name.startswith("SQLITE_IOERR") and is_nearly_full(folder))
    )


def _name_of(error: BaseException | None) -> str:
    return getattr(error, "sqlite_errorname", "") if isinstance(error, sqlite3.Error) else ""


def to_problem(error: BaseException, folder: Path | None = None) -> BaseException:
    """Convert a SQLite error to a Problem with a fix; return any other error unchanged.

    If `folder` is on a full disk, errors that SQLite reports differently also become "disk full".
    """
    name = "SQLITE_FULL" if folder and is_disk_full(error, folder) else _name_of(error)
    for start, (message, fix) in SQLITE_PROBLEMS.items():
        if name.startswith(start):
            return StorageProblem(message, f"{error}.", fix)
    return error


SQLITE_PROBLEMS = {
    "SQLITE_FULL": ("The disk is full.", "Free some space, then try again. Everything shown so far is saved."),
    "SQLITE_READONLY": ("The data folder is not writable.", "Change its permissions, or use --data-dir."),
    "SQLITE_CANTOPEN": (
        "The data file cannot be opened.",
        "Check that the folder exists and is writable.",
    ),
    "SQLITE_IOERR": ("The disk reported an error.", "Check the disk. Everything shown before the error is saved."),
    "SQLITE_NOTADB": ("The data file is damaged.", REPAIR_ADVICE),
    "SQLITE_CORRUPT": ("The data file is damaged.", REPAIR_ADVICE),
    "SQLITE_BUSY": ("Another program is using the data file.", "Close that program, then try again."),
}
