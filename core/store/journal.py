"""The append-only event log of every session, the only record of what happened."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from functools import partial

from core.domain.clock import Clock, now
from core.domain.events import EVENT_KINDS, EventRecord, RunEnded, SessionCreated, SessionEvent, UserMessage
from core.domain.ids import session_id
from core.domain.permissions import PermissionDecided, PermissionRequested
from core.domain.problems import Problem
from core.domain.question import QuestionAnswered, QuestionAsked
from core.domain.sessions import SessionRow, fold_session
from core.domain.steps import OPEN_STATUSES, Outline, fold
from core.store.blobs import compress, read_blob
from core.store.codec import decode_event, encode_event, load_texts
from core.store.database import Database, WriteJob
from core.store.event_batch import EventBatch, append_batch
from core.store.journal_update import JournalUpdate
from core.store.reader import Reader
from core.store.row_keys import key_range, row_key
from core.store.row_mapping import (
    SESSION_COLUMNS,
    STEP_COLUMNS,
    insert_session,
    read_session,
    read_step,
    update_session,
    write_steps,
)
from core.store.search import index_event
from core.store.search_backlog import index_slice
from core.store.skill_store import record_skill_use
from core.store.untrusted_files import note_untrusted_files
from core.store.write_state import WriteState

MAX_CACHED_SESSIONS = 64  # sessions whose write state is cached
Listener = Callable[[JournalUpdate], None]
Unsubscribe = Callable[[], None]
ExtraWrite = Callable[[sqlite3.Connection], None]


class Journal:
    """Appends events and notifies listeners, but only after the commit, so that no crash can lose an event they saw."""

    def __init__(self, database: Database | None, reader: Reader, clock: Clock = now) -> None:
        self._database = database
        self._reader = reader
        self._clock = clock
        self._listeners: list[Listener] = []
        self._open: dict[str, WriteState] = {}  # used on the writing thread only
        if database:
            database.on_rollback = self._open.clear

    async def create_session(self, folder: str, title: str) -> str:
        """Create a session and return its id."""
        name = session_id()
        await self.append(name, SessionCreated(name, folder, title))
        return name

    async def append(
        self, session: str, *events: SessionEvent, blobs: Mapping[str, bytes] | None = None
    ) -> EventRecord:
        """Commit events, all or none, then notify the listeners. Return the record of the last event."""
        return await self.start_append(session, *events, blobs=blobs)

    def start_append(
        self, session: str, *events: SessionEvent, blobs: Mapping[str, bytes] | None = None
    ) -> "asyncio.Future[EventRecord]":
        """Append like `append`, but return a future at once instead of waiting for the commit."""
        at = self._clock()
        return self._submit_events(session, tuple((at, event) for event in events), blobs or {})

    async def append_with(self, session: str, event: SessionEvent, also: ExtraWrite) -> EventRecord:
        """Append an event and run `also` in the same transaction. If `also` raises, nothing is written."""
        return await self._submit_events(session, ((self._clock(), event),), {}, also=also)

    def append_in_background(self, session: str, event: SessionEvent) -> None:
        """Append an event without waiting for the commit. Errors are ignored, as the event itself reports an error."""
        if self._database:
            events = ((self._clock(), event),)
            loop = asyncio.get_running_loop()
            self._database.submit(
                WriteJob(
                    lambda db: self._write(db, session, events, {}),
                    lambda updates, error: None if error else self._notify(updates),
                    loop,
                )
            )

    async def append_timed(
        self,
        session: str,
        timed_events: Iterable[tuple[int, SessionEvent]],
        *,
        silent_count: int = 0,
        blobs: Mapping[str, bytes] | None = None,
    ) -> EventRecord:
        """Append events that keep their original times.

        Listeners are not notified about the first `silent_count` events. The events are copies, so they do not mark
        files as untrusted again.
        """
        return await self._submit_events(session, tuple(timed_events), blobs or {}, silent_count, copies=True)

    async def append_batch(self, session: str, batch: EventBatch) -> None:
        """Append a large batch, all or none.

        Listeners get one update; full-text indexing is deferred to `index_backlog`.
        """

        def write(db: sqlite3.Connection) -> list[JournalUpdate]:
            first = batch.events[0]
            return [append_batch(db, self._write_state(db, session, first.event, first.at), batch)]

        await self._submit(write)

    async def index_backlog(self) -> None:
        """Index the events of all deferred batches in slices, so that other jobs wait for one slice at most."""
        if self._database:
            while await self._database.run(index_slice):
                pass

    def _submit_events(
        self,
        session: str,
        timed_events: tuple[tuple[int, SessionEvent], ...],
        blobs: Mapping[str, bytes],
        silent_count: int = 0,
        also: ExtraWrite | None = None,
        copies: bool = False,
    ) -> "asyncio.Future[EventRecord]":
        def write(db: sqlite3.Connection) -> list[JournalUpdate]:
            if also:
                also(db)
            updates = self._write(db, session, timed_events, blobs)
            if not copies:
                at, events = updates[-1].entry.at, [event for _, event in timed_events]
                note_untrusted_files(db, self._open[session], events, at)
            return updates

        return self._submit(write, silent_count)

    def _submit(
        self, write: Callable[[sqlite3.Connection], list[JournalUpdate]], silent_count: int = 0
    ) -> "asyncio.Future[EventRecord]":
        if self._database is None:
            raise Problem(
                "The data folder is not writable.", "It is open read-only.", "Choose another one with --data-dir."
            )
        loop = asyncio.get_running_loop()
        future: asyncio.Future[EventRecord] = loop.create_future()

        def done(updates: list[JournalUpdate], error: BaseException | None) -> None:
            # Canceling the caller does not cancel the commit, so listeners are notified in either case.
            if error is None:
                self._notify(updates[silent_count:])
            if future.cancelled():
                return
            if error is None:
                future.set_result(updates[-1].entry)
            else:
                future.set_exception(error)

        self._database.submit(WriteJob(write, done, loop))
        return future

    async def read(self, session: str, after: int = 0) -> AsyncIterator[EventRecord]:
        """Yield the events after `after` in order. Other tasks of the event loop get to run every 500 events."""
        for count, (seq, run, at, kind, payload) in enumerate(self._reader.raw_events(session, after)):
            if count % 500 == 499:
                await asyncio.sleep(0)
            yield EventRecord(session, seq, run, at, decode_event(kind, payload))

    async def store_blobs(self, blobs: Mapping[str, bytes]) -> None:
        """Store blobs that an event is about to refer to."""
        if self._database is None:
            raise Problem("The data folder is not writable.", "It is open read-only.", "")
        await self._database.run(partial(_store_blobs, blobs=blobs))

    def drop_cached(self, session: str) -> None:
        """Drop the cached write state of a session that is being purged. Called on the writing thread."""
        self._open.pop(session, None)

    def listen(self, listener: Listener) -> Unsubscribe:
        """Register a listener and return a function that removes it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def _notify(self, updates: list[JournalUpdate]) -> None:
        for update in updates:
            for listener in tuple(self._listeners):
                try:
                    listener(update)
                except Exception as error:  # A bug in one listener must not keep the event from the others.
                    context = {"message": "A listener of the journal failed.", "exception": error}
                    asyncio.get_running_loop().call_exception_handler(context)

    def _write(
        self,
        db: sqlite3.Connection,
        session: str,
        timed_events: tuple[tuple[int, SessionEvent], ...],
        blobs: Mapping[str, bytes],
    ) -> list[JournalUpdate]:
        """Append events within a transaction of the writing thread.

        A step that several events change is written once.
        """
        for name, body in blobs.items():
            _store_blob(db, name, body)
        first, event = timed_events[0]
        state = self._write_state(db, session, event, first)
        updates = [_write_one(db, state, event, at) for at, event in timed_events]
        write_steps(db, state.number, {step.row: step for update in updates for step in update.steps}.values())
        update_session(db, state.number, state.row)
        return updates

    def _write_state(self, db: sqlite3.Connection, session: str, event: SessionEvent, at: int) -> WriteState:
        state = self._open.get(session)
        if state is None:
            if len(self._open) >= MAX_CACHED_SESSIONS:
                del self._open[next(iter(self._open))]  # It is reloaded when the session is written to again.
            state = _load_write_state(db, session)
        if state is None:
            if not isinstance(event, SessionCreated):
                raise Problem(f"There is no session {session}.", "", "List the sessions with `journeyman sessions`.")
            row = SessionRow(session, created_at=at)
            state = WriteState(insert_session(db, row), row, Outline())
        self._open[session] = state
        return state


def _write_one(db: sqlite3.Connection, state: WriteState, event: SessionEvent, at: int) -> JournalUpdate:
    """Append one event and update what is derived from it, except the `step` and `session` rows."""
    encoded = encode_event(event)
    entry = state.next_entry(encoded.stored_event, at)
    name = row_key(state.number, entry.seq)
    db.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?)", (name, entry.run, entry.at, encoded.kind, encoded.payload))
    for blob, body in encoded.blobs.items():
        _store_blob(db, blob, body)
    index_event(db, name, load_texts(encoded.full_event, lambda blob: read_blob(db, blob)))
    steps = fold(entry, state.outline)
    state.row = fold_session(state.row, entry, steps, state.outline)
    if not state.row.imported_from:  # The questions of an imported session cannot be answered here.
        update_pending_requests(db, state.number, entry)
        record_skill_use(db, name, event)
    return JournalUpdate(entry, steps, state.row)


def _load_write_state(db: sqlite3.Connection, session: str) -> WriteState | None:
    """Rebuild the write state of a session from its stored rows."""
    stored = db.execute(f"SELECT number, {SESSION_COLUMNS} FROM session WHERE id = ?", (session,)).fetchone()
    if stored is None:
        return None
    number, row = stored[0], read_session(stored[1:])
    outline = load_outline(db, number, row.rows)
    run, kind, at = db.execute(
        "SELECT run, kind, at FROM event WHERE id = ?", (row_key(number, row.last_seq),)
    ).fetchone()
    # A user message that starts a run has the number of that run, although RunStarted only follows it.
    opening = kind == EVENT_KINDS[UserMessage] and "run" not in outline.open
    return WriteState(number, row, outline, run - opening, at)


def load_outline(db: sqlite3.Connection, number: int, rows: int) -> Outline:
    """Return the open steps of a session, which later events may still change, and its step counts."""
    open_statuses = ", ".join(f"'{status}'" for status in sorted(OPEN_STATUSES))
    step_rows = db.execute(
        f"SELECT {STEP_COLUMNS} FROM step WHERE id BETWEEN ? AND ? AND ended_at = 0 AND status IN"
        f" ({open_statuses}) ORDER BY id",
        key_range(number),
    )
    steps = [read_step(row) for row in step_rows]
    last = db.execute(
        "SELECT number FROM step WHERE id BETWEEN ? AND ? AND number > 0 ORDER BY id DESC LIMIT 1", key_range(number)
    ).fetchone()
    return Outline(rows, last[0] if last else 0, {step.key: step for step in steps})


def _store_blobs(db: sqlite3.Connection, blobs: Mapping[str, bytes]) -> None:
    for name, body in blobs.items():
        _store_blob(db, name, body)


def _store_blob(db: sqlite3.Connection, name: str, body: bytes) -> None:
    if db.execute("SELECT 1 FROM blob WHERE hash = ?", (name,)).fetchone() is None:
        db.execute("INSERT INTO blob VALUES (?, ?, ?)", (name, len(body), compress(body)))


def update_pending_requests(db: sqlite3.Connection, number: int, entry: EventRecord) -> None:
    """Keep the table of open questions and permission requests, which the inbox shows, in step with an event."""
    match entry.event:
        case QuestionAsked(question=pending) | PermissionRequested(request=pending):
            db.execute("INSERT OR REPLACE INTO pending_request VALUES (?, ?, ?)", (pending.id, number, entry.seq))
        case QuestionAnswered(question_id=name) | PermissionDecided(request_id=name):
            db.execute("DELETE FROM pending_request WHERE id = ?", (name,))
        case RunEnded():
            db.execute("DELETE FROM pending_request WHERE session = ?", (number,))
        case _:
            pass
