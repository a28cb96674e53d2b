"""The rows derived from events: session rows, timeline rows and the full-text index. They are a cache of the event log.

Events are committed first. Their rows follow in transactions of their own, for many events at once. `session.last_seq`
is the last event that a session's stored rows include. When the state of a session is loaded, for example after a
crash, the later events are read from the log and applied again.
"""

import sqlite3
import threading
from collections.abc import Callable
from operator import itemgetter

from core.domain.events import EVENT_KINDS, EventRecord, SessionEvent, UserMessage
from core.domain.sessions import SessionRow, fold_session
from core.domain.steps import OPEN_STATUSES, Outline, Step, fold
from core.store.codec import decode_event
from core.store.row_keys import MASK, key_range, offset_of, row_key
from core.store.row_mapping import (
    SESSION_COLUMNS,
    STEP_COLUMNS,
    read_session,
    read_step,
    update_session,
    write_steps,
)
from core.store.search import index_events
from core.store.search_backlog import TextsInHand
from core.store.write_state import WriteState

MAX_CACHED_SESSIONS = 64  # sessions whose state is kept in memory
MAX_INTEGER = 2**63 - 1  # largest integer that an SQLite column can hold


def _integer_getter(row_type: type) -> Callable[[tuple[object, ...]], tuple[int, ...]]:
    """Return a function that returns the integers of a row."""
    types = row_type.__annotations__.values()
    return itemgetter(*(index for index, column_type in enumerate(types) if column_type is int))


# Only the integers are checked: checking every value took a tenth of the writing thread's time.
SESSION_INTEGERS = _integer_getter(SessionRow)
STEP_INTEGERS = _integer_getter(Step)


class DerivedRows:
    """The states of sessions in memory, and which sessions have rows to write. Used on the writing thread only.

    A state can be dropped at any time: it is loaded again from the stored rows and the events after them.
    """

    def __init__(self) -> None:
        self.unindexed_texts = TextsInHand()
        self._states: dict[str, WriteState] = {}
        self._behind: set[str] = set()  # sessions whose stored rows may not include all of their events
        self._started = False  # whether the sessions that a crash left without rows were added

    @property
    def is_pending(self) -> bool:
        """Whether there may be rows to write. Can be read on any thread."""
        return not self._started or bool(self._behind)

    def state(self, db: sqlite3.Connection, session: str) -> WriteState | None:
        """Return the state of a session after its last event; None if there is no such session."""
        state = self._states.get(session)
        if state is None and (state := load_state(db, session)):
            self.add(state)
        return state

    def add(self, state: WriteState) -> None:
        """Keep the state of a session in memory."""
        if len(self._states) >= MAX_CACHED_SESSIONS:
            del self._states[next(iter(self._states))]
        self._states[state.row.id] = state

    def fold(self, state: WriteState, entry: EventRecord, full_event: SessionEvent) -> list[Step]:
        """Apply an event to the state of its session. Return the timeline rows that it changed.

        Raise OverflowError for an event whose rows could not be written later. The caller then does not commit the
        event.
        """
        self._behind.add(state.row.id)
        steps = fold_event(state, entry, full_event)
        for integers in (SESSION_INTEGERS(state.row), *map(STEP_INTEGERS, steps)):
            if max(map(abs, integers)) > MAX_INTEGER:
                raise OverflowError("A number of the event is too large for a row.")
        return steps

    def write(self, db: sqlite3.Connection) -> None:
        """Write the rows of every session whose stored rows do not include all events."""
        if not self._started:
            self._behind.update(sessions_behind(db))
        for session in self._behind:
            db.execute("SAVEPOINT session")
            try:
                self.write_session(db, session)
            except (sqlite3.Error, OSError):
                raise
            # An error in one session must not keep the rows of the others from being written.
            except Exception as error:
                db.execute("ROLLBACK TO session")
                self.drop(session)
                thread = threading.current_thread()
                threading.excepthook(threading.ExceptHookArgs((type(error), error, error.__traceback__, thread)))
            db.execute("RELEASE session")

    def write_session(self, db: sqlite3.Connection, session: str) -> None:
        """Write the rows of one session, in the current transaction of the writing thread."""
        # Do not keep a state that is loaded here: the session may be in the middle of a purge.
        if state := self._states.get(session) or load_state(db, session):
            write_rows(db, state)

    def on_written(self) -> None:
        """Note that the rows written by `write` are committed."""
        self._behind.clear()
        self._started = True

    def drop(self, session: str) -> None:
        """Remove the state of a session from memory."""
        self._states.pop(session, None)

    def on_rollback(self) -> None:
        """Remove all states from memory: they may include events that were rolled back."""
        self._states.clear()
        self.unindexed_texts.clear()


def fold_event(state: WriteState, entry: EventRecord, full_event: SessionEvent) -> list[Step]:
    """Apply an event to the state of its session, and note what is to be written. Return the timeline rows it changed.

    `full_event` is the event with its long texts, as far as they are in memory.
    """
    steps = fold(entry, state.outline)
    state.row = fold_session(state.row, entry, steps, state.outline)
    state.steps.update((step.row, step) for step in steps)
    state.unindexed.append((row_key(state.number, entry.seq), full_event))
    state.unwritten = True
    return steps


def write_rows(db: sqlite3.Connection, state: WriteState) -> list[Step]:
    """Write what the events since the last call have changed. Return the written timeline rows."""
    if not state.unwritten:
        return []
    steps = [state.steps[row] for row in sorted(state.steps)]
    write_steps(db, state.number, steps)
    index_events(db, state.unindexed)
    update_session(db, state.number, state.row)
    state.steps.clear()
    state.unindexed.clear()
    state.unwritten = False
    return steps


def sessions_behind(db: sqlite3.Connection) -> list[str]:
    """Return the sessions whose stored rows do not include all of their events."""
    rows = db.execute(
        "SELECT id FROM session WHERE EXISTS (SELECT 1 FROM event"
        f" WHERE event.id > number << 32 | last_seq AND event.id <= number << 32 | {MASK})"
    )
    return [row[0] for row in rows]


def load_state(db: sqlite3.Connection, session: str) -> WriteState | None:
    """Return the state of a session after its last event, from its stored rows and the events after them."""
    stored = db.execute(f"SELECT number, {SESSION_COLUMNS} FROM session WHERE id = ?", (session,)).fetchone()
    if stored is None:
        return None
    number, *columns = stored
    row = read_session(columns)
    state = WriteState(number, row, load_outline(db, number, row.rows))
    events = db.execute(
        "SELECT id, run, at, kind, payload FROM event WHERE id BETWEEN ? AND ? ORDER BY id",
        (row_key(number, row.last_seq), key_range(number)[1]),
    )
    for key, run, at, kind, payload in events:
        # A user message that starts a run has the number of that run, although RunStarted only follows it.
        opens_run = kind == EVENT_KINDS[UserMessage] and "run" not in state.outline.open
        if offset_of(key) > row.last_seq:
            event = decode_event(kind, payload)
            fold_event(state, EventRecord(session, offset_of(key), run, at, event), event)
        state.run = run - 1 if opens_run else run
        state.at = at
    return state


def load_outline(db: sqlite3.Connection, number: int, rows: int) -> Outline:
    """Return the steps of a session that later events may still change, and its step counts."""
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
