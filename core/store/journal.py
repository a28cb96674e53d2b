"""The append-only record of every session. What is not here did not happen."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from functools import partial

from core.domain.clock import Clock, now
from core.domain.consent import ConsentAsked, ConsentGiven
from core.domain.events import Entry, PersonSpoke, RunEnded, RunEvent, SessionOpened
from core.domain.ids import session_id
from core.domain.problems import Problem
from core.domain.question import QuestionAnswered, QuestionAsked
from core.domain.sessions import SessionRow, fold_session
from core.domain.steps import OPEN, Outline, fold
from core.store.blobs import deflate, kept
from core.store.bulk import Bulk, pour
from core.store.codec import NAMES, decode, pack, whole
from core.store.database import Database, Job
from core.store.keys import key, span
from core.store.live import Live
from core.store.reader import Reader
from core.store.rows import (
    SESSION_COLUMNS,
    STEP_COLUMNS,
    insert_session,
    read_session,
    read_step,
    update_session,
    write_steps,
)
from core.store.search import index
from core.store.skills import track_skill
from core.store.told import Told
from core.store.unsearched import index_some

OPEN_SESSIONS = 64  # whose open ends are kept in memory
Listener = Callable[[Told], None]
Forget = Callable[[], None]
Also = Callable[[sqlite3.Connection], None]


class Journal:
    """Write first, tell afterwards: a listener never hears what a crash could undo."""

    def __init__(self, database: Database | None, reader: Reader, clock: Clock = now) -> None:
        self._database = database
        self._reader = reader
        self._clock = clock
        self._listeners: list[Listener] = []
        self._open: dict[str, Live] = {}  # of the writing thread
        if database:
            database.undone = self._open.clear

    async def open(self, workspace: str, title: str) -> str:
        """Begin a session."""
        name = session_id()
        await self.append(name, SessionOpened(name, workspace, title))
        return name

    async def append(self, session: str, *events: RunEvent, blobs: Mapping[str, bytes] | None = None) -> Entry:
        """Make facts durable, all or none, then tell every listener; the last entry."""
        return await self.begin(session, *events, blobs=blobs)

    def begin(
        self, session: str, *events: RunEvent, blobs: Mapping[str, bytes] | None = None
    ) -> "asyncio.Future[Entry]":
        """The same for those who have something else to do until it is done."""
        at = self._clock()
        return self._put(session, tuple((at, event) for event in events), blobs or {})

    async def append_with(self, session: str, event: RunEvent, also: Also) -> Entry:
        """A fact, and what `also` writes in the same transaction; where that raises, nothing is written."""
        return await self._put(session, ((self._clock(), event),), {}, also=also)

    def note(self, session: str, event: RunEvent) -> None:
        """A fact that nobody waits for: where it cannot be written either, there is nobody to tell."""
        if self._database:
            facts = ((self._clock(), event),)
            loop = asyncio.get_running_loop()
            self._database.put(
                Job(
                    lambda db: self._write(db, session, facts, {}),
                    lambda told, error: None if error else self._tell(told),
                    loop,
                )
            )

    async def copy(
        self,
        session: str,
        facts: Iterable[tuple[int, RunEvent]],
        *,
        quiet: int = 0,
        blobs: Mapping[str, bytes] | None = None,
    ) -> Entry:
        """The same for facts that keep the time at which they happened. The first `quiet` are no news to anybody."""
        return await self._put(session, tuple(facts), blobs or {}, quiet)

    async def pour(self, session: str, many: Bulk) -> None:
        """Many facts of others at once, all or none: told as one, and found by their words when there is time."""

        def write(db: sqlite3.Connection) -> list[Told]:
            first = many.facts[0]
            return [pour(db, self._known(db, session, first.event, first.at), many)]

        await self._ask(write)

    async def make_findable(self) -> None:
        """Until everything that was poured can be found by its words; whoever writes meanwhile waits for a slice."""
        if self._database:
            while await self._database.do(index_some):
                pass

    def _put(
        self,
        session: str,
        facts: tuple[tuple[int, RunEvent], ...],
        blobs: Mapping[str, bytes],
        quiet: int = 0,
        also: Also | None = None,
    ) -> "asyncio.Future[Entry]":
        def write(db: sqlite3.Connection) -> list[Told]:
            if also:
                also(db)
            return self._write(db, session, facts, blobs)

        return self._ask(write, quiet)

    def _ask(self, write: Callable[[sqlite3.Connection], list[Told]], quiet: int = 0) -> "asyncio.Future[Entry]":
        if self._database is None:
            raise Problem(
                "The data folder cannot be written.", "It was opened to look at.", "Name another with --home."
            )
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Entry] = loop.create_future()

        def done(told: list[Told], error: BaseException | None) -> None:
            # A stop may have cancelled the waiting, not the fact: listeners hear of it all the same.
            if error is None:
                self._tell(told[quiet:])
            if future.cancelled():
                return
            if error is None:
                future.set_result(told[-1].entry)
            else:
                future.set_exception(error)

        self._database.put(Job(write, done, loop))
        return future

    async def read(self, session: str, after: int = 0) -> AsyncIterator[Entry]:
        """The facts in order, in slices that let other runs breathe."""
        for count, (seq, run, at, kind, payload) in enumerate(self._reader.raw(session, after)):
            if count % 500 == 499:
                await asyncio.sleep(0)
            yield Entry(session, seq, run, at, decode(kind, payload))

    async def keep(self, blobs: Mapping[str, bytes]) -> None:
        """Contents that a fact is about to name."""
        if self._database is None:
            raise Problem("The data folder cannot be written.", "It was opened to look at.", "")
        await self._database.do(partial(_keep_all, blobs=blobs))

    def forget(self, session: str) -> None:
        """On the writing thread: what it knew of a session that goes."""
        self._open.pop(session, None)

    def listen(self, listener: Listener) -> Forget:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def _tell(self, told: list[Told]) -> None:
        for each in told:
            for listener in tuple(self._listeners):
                try:
                    listener(each)
                except Exception as error:  # a listener's bug must not take the fact from the others
                    context = {"message": "A listener of the journal failed.", "exception": error}
                    asyncio.get_running_loop().call_exception_handler(context)

    def _write(
        self,
        db: sqlite3.Connection,
        session: str,
        facts: tuple[tuple[int, RunEvent], ...],
        blobs: Mapping[str, bytes],
    ) -> list[Told]:
        """On the writing thread, in a transaction. A row that several of the facts change is written once."""
        for name, body in blobs.items():
            _keep(db, name, body)
        first, event = facts[0]
        known = self._known(db, session, event, first)
        told = [_write_one(db, known, event, at) for at, event in facts]
        write_steps(db, known.number, {step.row: step for each in told for step in each.steps}.values())
        update_session(db, known.number, known.row)
        return told

    def _known(self, db: sqlite3.Connection, session: str, event: RunEvent, at: int) -> Live:
        known = self._open.get(session)
        if known is None:
            if len(self._open) >= OPEN_SESSIONS:
                del self._open[next(iter(self._open))]  # it is read back when it is written to again
            known = _load(db, session)
        if known is None:
            if not isinstance(event, SessionOpened):
                raise Problem(f"There is no session {session}.", "", "List them with `journeyman sessions`.")
            row = SessionRow(session, opened=at)
            known = Live(insert_session(db, row), row, Outline())
        self._open[session] = known
        return known


def _write_one(db: sqlite3.Connection, known: Live, event: RunEvent, at: int) -> Told:
    """A fact, and what follows from it, but for the rows a person reads."""
    packed = pack(event)
    entry = known.entry(packed.event, at)
    name = key(known.number, entry.seq)
    db.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?)", (name, entry.run, entry.at, packed.kind, packed.payload))
    for blob, body in packed.blobs.items():
        _keep(db, blob, body)
    index(db, name, whole(packed.whole, lambda blob: kept(db, blob)))
    steps = fold(entry, known.outline)
    known.row = fold_session(known.row, entry, steps, known.outline)
    if not known.row.source:  # what another program asked was answered there, or never
        track_question(db, known.number, entry)
        track_skill(db, name, event)
    return Told(entry, steps, known.row)


def _load(db: sqlite3.Connection, session: str) -> Live | None:
    """The open end of a session, read back from its rows."""
    found = db.execute(f"SELECT number, {SESSION_COLUMNS} FROM session WHERE id = ?", (session,)).fetchone()
    if found is None:
        return None
    number, row = found[0], read_session(found[1:])
    outline = load_outline(db, number, row.rows)
    run, kind, at = db.execute("SELECT run, kind, at FROM entry WHERE id = ?", (key(number, row.seq),)).fetchone()
    # Words that begin a run carry its number before it has begun.
    opening = kind == NAMES[PersonSpoke] and "run" not in outline.open
    return Live(number, row, outline, run - opening, at)


def load_outline(db: sqlite3.Connection, number: int, rows: int) -> Outline:
    """The rows later facts may change, and the counts."""
    waiting = ", ".join(f"'{status}'" for status in sorted(OPEN))
    found = db.execute(
        f"SELECT {STEP_COLUMNS} FROM step WHERE id BETWEEN ? AND ? AND ended = 0 AND status IN ({waiting}) ORDER BY id",
        span(number),
    )
    steps = [read_step(row) for row in found]
    last = db.execute(
        "SELECT number FROM step WHERE id BETWEEN ? AND ? AND number > 0 ORDER BY id DESC LIMIT 1", span(number)
    ).fetchone()
    return Outline(rows, last[0] if last else 0, {step.key: step for step in steps})


def _keep_all(db: sqlite3.Connection, blobs: Mapping[str, bytes]) -> None:
    for name, body in blobs.items():
        _keep(db, name, body)


def _keep(db: sqlite3.Connection, name: str, body: bytes) -> None:
    if db.execute("SELECT 1 FROM blob WHERE hash = ?", (name,)).fetchone() is None:
        db.execute("INSERT INTO blob VALUES (?, ?, ?)", (name, len(body), deflate(body)))


def track_question(db: sqlite3.Connection, number: int, entry: Entry) -> None:
    """The open questions and consents, for the inbox."""
    match entry.event:
        case QuestionAsked(question=asked) | ConsentAsked(request=asked):
            db.execute("INSERT OR REPLACE INTO question VALUES (?, ?, ?)", (asked.id, number, entry.seq))
        case QuestionAnswered(question_id=name) | ConsentGiven(request_id=name):
            db.execute("DELETE FROM question WHERE id = ?", (name,))
        case RunEnded():
            db.execute("DELETE FROM question WHERE session = ?", (number,))
        case _:
            pass
