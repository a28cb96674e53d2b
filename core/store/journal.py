"""The event log of every session. Events are only appended, and everything else is derived from them."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from functools import partial

from core.domain.clock import Clock, now
from core.domain.events import EventRecord, RunEnded, RunStarted, SessionCreated, SessionEvent
from core.domain.permissions import PermissionDecided, PermissionRequested
from core.domain.problems import Problem
from core.domain.question import QuestionAnswered, QuestionAsked
from core.domain.sessions import SessionRow
from core.domain.steps import Outline
from core.store.blobs import compress
from core.store.codec import decode_event, encode_event
from core.store.database import Database, WriteJob
from core.store.event_batch import EventBatch, EventRow, append_batch
from core.store.journal_update import JournalUpdate
from core.store.purge import delete_session
from core.store.reader import Reader
from core.store.row_keys import row_key
from core.store.row_mapping import insert_session
from core.store.search_backlog import index_slice
from core.store.skill_store import record_skill_use
from core.store.staged_events import StagedEvents
from core.store.untrusted_files import note_untrusted_files
from core.store.write_state import WriteState

Listener = Callable[[JournalUpdate], None]
Unsubscribe = Callable[[], None]
ExtraWrite = Callable[[sqlite3.Connection], None]


class Journal:
    """Appends events and notifies listeners.

    Listeners are notified only after the commit, so that a crash cannot lose an event that they have seen.
    """

    def __init__(self, database: Database | None, reader: Reader, clock: Clock = now) -> None:
        self._database = database
        self._reader = reader
        self._clock = clock
        self._listeners: list[Listener] = []
        self._staged = StagedEvents(self._commit_staged)
        self._commits_of_staged: dict[str, asyncio.Future[EventRecord]] = {}
        if database:
            self._derived = database.derived  # used on the writing thread only
            reader.catch_up = database.catch_up

    async def append(
        self, session: str, *events: SessionEvent, blobs: Mapping[str, bytes] | None = None
    ) -> EventRecord:
        """Commit events, all or none, then notify the listeners. Return the record of the last event."""
        return await self.start_append(session, *events, blobs=blobs)

    def start_append(
        self, session: str, *events: SessionEvent, blobs: Mapping[str, bytes] | None = None
    ) -> asyncio.Future[EventRecord]:
        """Do the same as `append`, but return a future at once instead of waiting for the commit."""
        at = self._clock()
        return self._submit_events(session, tuple((at, event) for event in events), blobs or {})

    def stage(self, session: str, *events: SessionEvent) -> list[EventRecord]:
        """Stage events for the next `append_staged`. Return the records with which they will be committed.

        They are committed alone after HOLD_S, or before any other append to their session. If the records cannot be
        known yet, nothing is staged and the list is empty.
        """
        return self._staged.stage(session, self._clock(), events) if self._database else []

    async def append_staged(
        self, session: str, *events: SessionEvent, blobs: Mapping[str, bytes] | None = None
    ) -> asyncio.Future[EventRecord]:
        """Start to append the staged and the given events, all or none. Return a future that is done when committed.

        If staged events were committed alone before and that failed, raise that error.
        """
        if committing := self._commits_of_staged.get(session):
            try:
                await asyncio.shield(committing)
            finally:
                if committing.done():
                    self._commits_of_staged.pop(session, None)
        staged = self._staged.take(session)
        if not staged:
            return self.start_append(session, *events, blobs=blobs)
        at = self._clock()
        return self._submit_events(session, (*staged, *((at, event) for event in events)), blobs or {})

    def _commit_staged(self, session: str) -> None:
        """Commit staged events alone. An error is kept for `append_staged` to raise."""
        if staged := self._staged.take(session):
            committing = self._submit_events(session, staged, {})
            self._commits_of_staged[session] = committing
            committing.add_done_callback(partial(self._on_staged_committed, session))

    def _on_staged_committed(self, session: str, committing: asyncio.Future[EventRecord]) -> None:
        if not committing.cancelled() and committing.exception() is None:
            self._commits_of_staged.pop(session, None)

    async def append_with(self, session: str, event: SessionEvent, also: ExtraWrite) -> EventRecord:
        """Append an event and run `also` in the same transaction. If `also` raises, neither is stored."""
        return await self._submit_events(session, ((self._clock(), event),), {}, also=also)

    def append_in_background(self, session: str, event: SessionEvent) -> None:
        """Append an event without waiting for the commit.

        Errors are ignored, because the event itself reports an error.
        """
        if self._database:
            appended = self._submit_events(session, ((self._clock(), event),), {})
            appended.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def append_timed(
        self,
        session: str,
        timed_events: Iterable[tuple[int, SessionEvent]],
        *,
        silent_count: int = 0,
        blobs: Mapping[str, bytes] | None = None,
    ) -> EventRecord:
        """Append events with their original times, as copies of events.

        Listeners are not notified about the first `silent_count` events. Because they are copies, the events do not
        mark files as untrusted again.
        """
        return await self._submit_events(session, tuple(timed_events), blobs or {}, silent_count, copies=True)

    async def append_batch(self, session: str, batch: EventBatch) -> None:
        """Append a large batch, all or none. Listeners get one update.

        `index_backlog` adds the events to the search index later.
        """

        def write(db: sqlite3.Connection) -> list[JournalUpdate]:
            return [self._append_batch(db, session, batch)]

        await self._submit(session, write)

    async def replace_sessions(
        self,
        sessions: Iterable[str],
        batches: Sequence[tuple[str, EventBatch]],
        last_events: Callable[[SessionRow], Iterable[tuple[int, SessionEvent]]],
    ) -> None:
        """Delete sessions and append batches in their place, in one transaction.

        `last_events` is called on the writing thread with a session's row after its batches, and returns further events
        to append. Blobs are not deleted, because the batches refer to them too.
        """
        names = tuple(dict.fromkeys(session for session, _ in batches))

        def write(db: sqlite3.Connection) -> list[JournalUpdate]:
            for session in sessions:
                self.prepare_purge(db, session)
                delete_session(db, session)
            updates: list[JournalUpdate] = []
            for session, batch in batches:
                updates.append(self._append_batch(db, session, batch))
            for session in names:
                state = self._derived.state(db, session)
                assert state is not None
                updates += self._write(db, session, tuple(last_events(state.row)), {})
            return updates

        await self._submit(names[-1], write)

    async def index_backlog(self) -> None:
        """Index the events of all large batches for search, in slices: other jobs wait for one slice at most."""
        if self._database:
            while await self._database.run(partial(index_slice, texts=self._derived.unindexed_texts)):
                pass

    def _submit_events(
        self,
        session: str,
        timed_events: tuple[tuple[int, SessionEvent], ...],
        blobs: Mapping[str, bytes],
        silent_count: int = 0,
        also: ExtraWrite | None = None,
        copies: bool = False,
    ) -> asyncio.Future[EventRecord]:
        self._commit_staged(session)

        def write(db: sqlite3.Connection) -> list[JournalUpdate]:
            if also:
                also(db)
            updates = self._write(db, session, timed_events, blobs)
            if not copies:
                events = [event for _, event in timed_events]
                state = self._write_state(db, session, events[0], 0)
                note_untrusted_files(db, state, events, updates[-1].entry.at)
            return updates

        return self._submit(session, write, silent_count)

    def _submit(
        self, session: str, write: Callable[[sqlite3.Connection], list[JournalUpdate]], silent_count: int = 0
    ) -> asyncio.Future[EventRecord]:
        if self._database is None:
            raise Problem(
                "The data folder is not writable.", "It is open read-only.", "Choose another one with --data-dir."
            )
        loop = asyncio.get_running_loop()
        future: asyncio.Future[EventRecord] = loop.create_future()

        self._staged.on_submit(session)

        def done(updates: list[JournalUpdate], error: BaseException | None) -> None:
            self._staged.on_done(session, None if error else updates[-1].entry)
            # Listeners are notified even if the caller is canceled, because that does not cancel the commit.
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
        """Yield the events after the sequence number `after`, in order.

        Other tasks of the event loop run every 500 events.
        """
        for count, (seq, run, at, kind, payload) in enumerate(self._reader.raw_events(session, after)):
            if count % 500 == 499:
                await asyncio.sleep(0)
            yield EventRecord(session, seq, run, at, decode_event(kind, payload))

    async def store_blobs(self, blobs: Mapping[str, bytes]) -> None:
        """Store blobs to which an event will refer that is appended next."""
        if self._database is None:
            raise Problem("The data folder is not writable.", "It is open read-only.", "")
        await self._database.run(partial(_store_blobs, blobs=blobs))

    def prepare_purge(self, db: sqlite3.Connection, session: str) -> None:
        """Write the derived rows of a session before it is purged, and drop its state. Called on the writing thread."""
        self._derived.write_session(db, session)
        self._derived.drop(session)

    def listen(self, listener: Listener) -> Unsubscribe:
        """Register a listener. Return a function that removes it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def _notify(self, updates: list[JournalUpdate]) -> None:
        for update in updates:
            for listener in tuple(self._listeners):
                try:
                    listener(update)
                except Exception as error:  # an error in one listener must not keep the event from the others
                    context = {"message": "A listener of the journal failed.", "exception": error}
                    asyncio.get_running_loop().call_exception_handler(context)

    def _write(
        self,
        db: sqlite3.Connection,
        session: str,
        timed_events: tuple[tuple[int, SessionEvent], ...],
        blobs: Mapping[str, bytes],
    ) -> list[JournalUpdate]:
        """Append events in the current transaction of the writing thread.

        The rows derived from them are written later.
        """
        for name, body in blobs.items():
            _store_blob(db, name, body)
        first_at, first_event = timed_events[0]
        state = self._write_state(db, session, first_event, first_at)
        updates: list[JournalUpdate] = []
        rows: list[EventRow] = []
        for at, event in timed_events:
            encoded = encode_event(event)
            entry = state.next_entry(encoded.stored_event, at)
            key = row_key(state.number, entry.seq)
            rows.append(EventRow(key, entry.run, entry.at, encoded.kind, encoded.payload))
            for name, body in encoded.blobs.items():
                _store_blob(db, name, body)
            steps = self._derived.fold(state, entry, encoded.full_event)
            updates.append(JournalUpdate(entry, steps, state.row))
        db.executemany("INSERT INTO event VALUES (?, ?, ?, ?, ?)", rows)
        if not state.row.imported_from:  # an imported session waits for nobody: its questions cannot be answered here
            for update in updates:
                update_pending_requests(db, state.number, update.entry)
                record_skill_use(db, row_key(state.number, update.entry.seq), update.entry.event)
        if any(isinstance(event, RunStarted) for _, event in timed_events):
            # Until the derived rows follow, which is never on a full disk, the session must not look finished.
            db.execute("UPDATE session SET status = 'running' WHERE number = ?", (state.number,))
        return updates

    def _append_batch(self, db: sqlite3.Connection, session: str, batch: EventBatch) -> JournalUpdate:
        first = batch.events[0]
        state = self._write_state(db, session, first.event, first.at)
        return append_batch(db, state, batch, self._derived.unindexed_texts)

    def _write_state(self, db: sqlite3.Connection, session: str, event: SessionEvent, at: int) -> WriteState:
        """Return the state of a session. If `event` is a SessionCreated and the session is new, create the session."""
        if state := self._derived.state(db, session):
            return state
        if not isinstance(event, SessionCreated):
            raise Problem(f"There is no session {session}.", "", "List the sessions with `journeyman sessions`.")
        row = SessionRow(session, created_at=at)
        state = WriteState(insert_session(db, row), row, Outline())
        self._derived.add(state)
        return state


def _store_blobs(db: sqlite3.Connection, blobs: Mapping[str, bytes]) -> None:
    for name, body in blobs.items():
        _store_blob(db, name, body)


def _store_blob(db: sqlite3.Connection, name: str, body: bytes) -> None:
    if db.execute("SELECT 1 FROM blob WHERE hash = ?", (name,)).fetchone() is None:
        db.execute("INSERT INTO blob VALUES (?, ?, ?)", (name, len(body), compress(body)))


def update_pending_requests(db: sqlite3.Connection, number: int, entry: EventRecord) -> None:
    """Apply an event to the table of open questions and permission requests, which the inbox shows."""
    match entry.event:
        case QuestionAsked(question=pending) | PermissionRequested(request=pending):
            db.execute("INSERT OR REPLACE INTO pending_request VALUES (?, ?, ?)", (pending.id, number, entry.seq))
        case QuestionAnswered(question_id=name) | PermissionDecided(request_id=name):
            db.execute("DELETE FROM pending_request WHERE id = ?", (name,))
        case RunEnded():
            db.execute("DELETE FROM pending_request WHERE session = ?", (number,))
        case _:
            pass
