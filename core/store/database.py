"""The only SQLite connection that writes, on a thread of its own.

Queued jobs share transactions, with one sync each.
"""

import asyncio
import contextlib
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, TypeVar

from core.domain.problems import Problem, StorageProblem
from core.store.backup import back_up_before_migration
from core.store.derived_rows import DerivedRows
from core.store.files import file_size, is_nearly_full, is_no_space_error, touch_private, unwritable_folder
from core.store.health import REPAIR_ADVICE, is_corruption, open_read_only
from core.store.integrity import damage_in
from core.store.migrate import check_compatible, latest_version, migrate, schema_version

T = TypeVar("T")
MAX_BATCH_JOBS = 256
DEFER_S = 0.25  # seconds for which rows derived from committed events may remain unwritten
RETRY_S = 5.0  # seconds after which a failed attempt to write derived rows is repeated


class WriteJob(NamedTuple):
    """A unit of work for the writing connection, which is passed to `work`.

    `done` is called on `loop` with the result and the error, one of which is None. A job with `no_transaction` runs
    outside of any transaction.
    """

    work: Callable[[sqlite3.Connection], Any]
    done: Callable[[Any, BaseException | None], None]
    loop: asyncio.AbstractEventLoop
    no_transaction: bool = False


class _FinishedJob(NamedTuple):
    """A job with its result and its error, one of which is None."""

    job: WriteJob
    result: Any
    error: BaseException | None


class Database:
    """The writing connection, open from construction until `close`. The constructor raises Problem if opening fails.

    Attributes:
        derived: The rows derived from events. They are written at most DEFER_S after the events are committed, when a
            reader asks for them with `catch_up`, and before the connection is closed.
        on_disk_full: Called on the writing thread when the disk is full. Returns whether it freed any space.
        on_space_freed: Called on the writing thread after the first successful commit that follows `on_disk_full`.
            Returns whether the reserved space is available again.
        on_closed: Called on the writing thread at the end, with a flag that is false if corruption was ever detected.
            Returns whether it could record a clean shutdown. If not, it is called once more after the connection is
            closed.
    """

    def __init__(self, path: Path, *, synchronous: str = "FULL") -> None:
        self.path = path
        self.derived = DerivedRows()
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
        self._due: float | None = None  # the time at which to write the derived rows; used on the writing thread only
        self._waiting: deque[threading.Event] = deque()  # one event for each thread that waits for the derived rows
        opened: Future[None] = Future()
        self._thread = threading.Thread(target=self._write, args=(opened,), name="store", daemon=True)
        self._thread.start()
        try:
            opened.result()
        except BaseException:
            self._thread.join()
            raise

    async def run(self, work: Callable[[sqlite3.Connection], T], *, no_transaction: bool = False) -> T:
        """Run `work` on the writing thread, in a transaction unless `no_transaction` is set, and return its result."""
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
        """Queue a job from the running event loop.

        Jobs queued in the same iteration of the loop share a transaction.
        """
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
        """Wait until every job submitted so far is committed. Return false at the timeout. Any thread may call it."""
        if self._ended:
            return True
        committed = threading.Event()
        for loop in tuple(self._submitted):  # a blocked event loop could not send its jobs itself
            self._send(loop)
        loop = asyncio.new_event_loop()
        loop.close()
        self._jobs.put([WriteJob(lambda _: committed.set(), lambda *_: None, loop, no_transaction=True)])
        return committed.wait(timeout_s)

    def catch_up(self) -> None:
        """Wait until the derived rows of everything committed so far are written. Any thread may call it.

        If they cannot be written, it returns all the same, and the caller reads older rows.
        """
        if not self.derived.is_pending or not self._thread.is_alive() or threading.current_thread() is self._thread:
            return
        written = threading.Event()
        self._waiting.append(written)
        self._jobs.put([])  # wakes the writing thread
        while not written.wait(1.0) and self._thread.is_alive():
            pass

    def close(self) -> None:
        """Finish the queued jobs, then close the connection. A second call does nothing."""
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
            self._write_derived(db)
            with contextlib.suppress(sqlite3.Error):  # on a full disk, the WAL stays, and the next start recovers it
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            recorded = self.on_closed(not self._damaged)
            db.close()
            if not recorded:  # closing has retried the checkpoint, so it may succeed now
                self.on_closed(not self._damaged)
            self._ended = True
            self._fail_pending()
            for written in tuple(self._waiting):
                written.set()

    def _fail_pending(self) -> None:
        """Fail the jobs that arrived after the connection was closed, so that no caller waits forever."""
        closed = Problem("The data file is closed.", "Journeyman is shutting down.", "Start Journeyman again.")
        with contextlib.suppress(Empty):
            while True:
                self._finish([_FinishedJob(job, None, closed) for job in self._jobs.get_nowait() if job])

    def _run_jobs(self, db: sqlite3.Connection) -> None:
        while job := self._next(db):
            if job.no_transaction:
                self._write_derived(db)
                self._finish([self._attempt(db, job)])
            else:
                self._commit(db, [job, *self._more_jobs()])

    def _next(self, db: sqlite3.Connection) -> WriteJob | None:
        """Return the next job, or None to close. Write the derived rows first if they are due."""
        while True:
            if self._due is None and self.derived.is_pending:
                self._due = time.monotonic() + DEFER_S
            wait_s = None if self._due is None else self._due - time.monotonic()
            if self._waiting or (wait_s is not None and wait_s <= 0):
                self._write_derived(db)
            elif self._taken:
                return self._taken.popleft()
            else:
                with contextlib.suppress(Empty):
                    self._taken.extend(self._jobs.get(timeout=wait_s))

    def _write_derived(self, db: sqlite3.Connection) -> None:
        """Write the derived rows. No sync is needed: the next commit syncs them, and they can be derived again.

        An error is not reported, because the next job meets it as well. The rows are tried again later.
        """
        waiting_count = len(self._waiting)
        self._due = None
        try:
            if self.derived.is_pending:
                if self._synchronous == "FULL":
                    db.execute("PRAGMA synchronous = NORMAL")
                self._transact(db, [self.derived.write])
                self.derived.on_written()
        except (sqlite3.Error, OSError, Problem) as error:
            if is_corruption(error):
                self._damaged = True
                damage_in(error, self.path)  # marks the file for repair at the next start if the error means damage
            self._due = time.monotonic() + RETRY_S
        finally:
            with contextlib.suppress(sqlite3.Error):
                db.execute(f"PRAGMA synchronous = {self._synchronous}")
            for _ in range(waiting_count):
                self._waiting.popleft().set()

    def _more_jobs(self) -> Iterator[WriteJob]:
        """Yield queued jobs that may share the current transaction, at most MAX_BATCH_JOBS."""
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
        """Commit a batch in one transaction.

        If that fails, run each job in a transaction of its own, so that only a faulty one fails.
        """
        if not batch:
            return
        try:
            results = self._transact(db, [job.work for job in batch])
        except Exception as error:
            self._damaged = self._damaged or is_corruption(error)
            if is_disk_full(error, self.path.parent) and self.on_disk_full():
                self._relieved = True
                self._commit(db, batch)
            elif len(batch) > 1:
                for job in batch:
                    self._commit(db, [job])
            else:
                self._finish([_FinishedJob(batch[0], None, to_problem(error, self.path.parent))])
        else:
            self._finish([_FinishedJob(job, result, None) for job, result in zip(batch, results, strict=True)])
            self._relieved = self._relieved and not self.on_space_freed()

    def _transact(self, db: sqlite3.Connection, works: list[Callable[[sqlite3.Connection], Any]]) -> list[Any]:
        try:
            self._check_exists()
            db.execute("BEGIN IMMEDIATE")
            results = [work(db) for work in works]
            db.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):  # after a severe error, SQLite has rolled back already
                if db.in_transaction:
                    db.execute("ROLLBACK")
            self.derived.on_rollback()
            raise
        return results

    def _check_exists(self) -> None:
        """Raise Problem if the file was deleted: SQLite would not notice, and keep writing to the deleted file."""
        if not self.path.exists():
            raise Problem(
                "The data file was removed while Journeyman was open.",
                f"{self.path} no longer exists.",
                "Move the file back, or quit Journeyman and restore a backup. Until then, nothing is saved.",
            )

    def _attempt(self, db: sqlite3.Connection, job: WriteJob) -> _FinishedJob:
        """Run a job outside of any transaction."""
        try:
            return _FinishedJob(job, job.work(db), None)
        except Exception as error:
            return _FinishedJob(job, None, to_problem(error, self.path.parent))

    def _finish(self, finished: list[_FinishedJob]) -> None:
        """Report the results of jobs to their event loops, in the order of the commits. Each loop is woken once."""
        by_loop: dict[asyncio.AbstractEventLoop, list[_FinishedJob]] = {}
        for item in finished:
            by_loop.setdefault(item.job.loop, []).append(item)
        for loop, items in by_loop.items():
            with contextlib.suppress(RuntimeError):  # raised if the loop is closed
                loop.call_soon_threadsafe(_deliver, items)


def _deliver(finished: list[_FinishedJob]) -> None:
    for job, result, error in finished:
        job.done(result, error)


def connect(path: Path, synchronous: str) -> sqlite3.Connection:
    """Open the file for writing and migrate it to the latest schema. An older file is backed up first."""
    try:
        if file_size(path):
            # Checked through a read-only connection: a writable one would modify the file when it is closed.
            with contextlib.closing(open_read_only(path)) as existing:
                check_compatible(existing)
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
    """Return whether the error means that the disk is full.

    On a full disk even deletions fail, and SQLite reports SQLITE_IOERR instead of SQLITE_FULL if it cannot enlarge its
    WAL index.
    """
    name = _sqlite_error_name(error)
    return (
        is_no_space_error(error)
        or name.startswith("SQLITE_FULL")
        or (name.startswith("SQLITE_IOERR") and is_nearly_full(folder))
    )


def _sqlite_error_name(error: BaseException | None) -> str:
    return getattr(error, "sqlite_errorname", "") if isinstance(error, sqlite3.Error) else ""


def to_problem(error: BaseException, folder: Path | None = None) -> BaseException:
    """Convert an SQLite error to a Problem with a fix. Return any other error unchanged.

    If `folder` is on a full disk, errors that SQLite reports under another code also become "disk full".
    """
    name = "SQLITE_FULL" if folder and is_disk_full(error, folder) else _sqlite_error_name(error)
    for prefix, (message, fix) in SQLITE_PROBLEMS.items():
        if name.startswith(prefix):
            return StorageProblem(message, f"{error}.", fix)
    return error


# The message and the fix for the SQLite errors whose name starts with the key.
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
