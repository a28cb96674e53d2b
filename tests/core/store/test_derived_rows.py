"""The rows derived from events are written after them, coalesced, and a reader never misses one."""

import asyncio
import sqlite3
import threading
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

import core.store.database as database_module
import core.store.derived_rows as derived_rows
from core.domain.events import CallStarted, RunStarted, SessionCreated, SessionEvent, ToolReturned, UserMessage
from core.domain.session_metadata import SessionRenamed
from core.domain.steps import Step
from core.domain.text import Text
from core.store.database import Database
from core.store.journal import Journal
from core.store.purge import purge_sessions
from core.store.reader import Reader
from core.store.rebuild import rebuild
from core.store.row_mapping import write_steps
from tests.core.store.made import dump, journal_at
from tests.sessions import create_session

TURN: tuple[SessionEvent, ...] = (
    UserMessage(Text("look for the anchor")),
    RunStarted("m"),
    CallStarted("r1c1", "run", "command", "ls"),
    ToolReturned("r1c1", Text("a harbor")),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journeyman.db"


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but a reader or the end has the derived rows written."""
    monkeypatch.setattr(database_module, "DEFER_S", 3600.0)


def play(path: Path, work: Callable[[Journal, Reader, Database], Awaitable[object]]) -> None:
    with journal_at(path) as (journal, reader, database):
        asyncio.run(work(journal, reader, database))  # type: ignore[arg-type]


def stored(path: Path) -> tuple[int, int, int]:
    """Return the last event of the stored session row, and how many events and timeline rows are stored."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
        (seq,) = db.execute("SELECT last_seq FROM session").fetchone()
        (events,) = db.execute("SELECT count(*) FROM event").fetchone()
        (rows,) = db.execute("SELECT count(*) FROM step").fetchone()
        return seq, events, rows


def rebuilt(path: Path) -> dict[str, object]:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        rebuild(db)
    return dict(dump(path))


def test_events_are_committed_alone_and_a_reader_gets_their_rows(path: Path, later: None) -> None:
    async def work(journal: Journal, reader: Reader, database: Database) -> None:
        name = await create_session(journal, "/tmp", "t")
        for event in TURN:
            await journal.append(name, event)
        assert stored(path) == (0, 5, 0)
        assert [step.object for step in reader.steps(name, 0, 9) if step.key == "r1c1"] == ["ls"]
        assert stored(path)[:2] == (5, 5) and not database.derived.is_pending
        await journal.append(name, ToolReturned("r2", Text("lighthouse")))
        assert [hit.seq for hit in reader.search("lighthouse")] == [6]
        await journal.append(name, SessionRenamed("Anchor"))
        row = reader.session(name)
        assert row is not None and row.title == "Anchor"

    play(path, work)
    found = dump(path)
    assert rebuilt(path) == found


def test_the_rows_follow_by_themselves_and_each_is_written_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []
    done = threading.Event()

    def count(db: sqlite3.Connection, number: int, steps: list[Step]) -> None:
        written.extend(step.row for step in steps)
        write_steps(db, number, steps)
        done.set()

    async def work(journal: Journal, reader: Reader, database: Database) -> None:
        monkeypatch.setattr(derived_rows, "write_steps", count)
        name = await create_session(journal, "/tmp", "t")
        await journal.append(name, *TURN)
        assert await asyncio.to_thread(done.wait, 30)

    play(path, work)
    assert sorted(written) == sorted(set(written)) and len(written) == stored(path)[2]


def test_the_rows_are_written_before_the_file_is_closed(path: Path, later: None) -> None:
    async def work(journal: Journal, reader: Reader, database: Database) -> None:
        await journal.append(await create_session(journal, "/tmp", "t"), *TURN)

    play(path, work)
    assert stored(path)[:2] == (5, 5)


def test_a_start_derives_what_a_crash_left_behind(path: Path, later: None) -> None:
    """The file after a crash has the events and none of their rows."""

    async def work(journal: Journal, reader: Reader, database: Database) -> None:
        name = await create_session(journal, "/tmp", "t")
        await journal.append(name, *TURN[:3])
        reader.sessions()
        await journal.append(name, TURN[3])
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(crashed)) as copy:
            source.backup(copy)

    crashed = path.with_name("crashed.db")
    play(path, work)
    assert stored(crashed)[:2] == (4, 5)
    with journal_at(crashed) as (_, reader, _database):
        assert [row.last_seq for row in reader.sessions()] == [5]
    assert dump(crashed) == dump(path) == rebuilt(crashed)


def test_a_rolled_back_event_leaves_no_rows(path: Path, later: None) -> None:
    async def work(journal: Journal, reader: Reader, database: Database) -> None:
        name = await create_session(journal, "/tmp", "t")
        await journal.append(name, *TURN[:2])

        def fail(db: sqlite3.Connection) -> None:
            raise ZeroDivisionError

        failing = asyncio.ensure_future(journal.append_with(name, UserMessage(Text("lost words")), fail))
        kept = asyncio.ensure_future(journal.append(name, UserMessage(Text("kept words"))))
        with pytest.raises(ZeroDivisionError):
            await failing
        await kept
        assert [hit.seq for hit in reader.search("words")] == [4] and not reader.search("lost")

    play(path, work)
    found = dump(path)
    assert rebuilt(path) == found


def test_an_event_whose_rows_cannot_be_written_is_refused(path: Path, later: None) -> None:
    """Otherwise its session could never be shown again."""

    async def work(journal: Journal, reader: Reader, database: Database) -> None:
        name = await create_session(journal, "/tmp", "t")
        with pytest.raises(OverflowError):
            await journal.append(name, RunStarted("m", max_turns=2**63))
        await journal.append(name, RunStarted("m", max_turns=2**63 - 1))
        assert [row.max_turns for row in reader.sessions()] == [2**63 - 1]

    play(path, work)


def test_a_purged_session_leaves_nothing_and_its_id_can_be_used_again(path: Path, later: None) -> None:
    async def work(journal: Journal, reader: Reader, database: Database) -> None:
        name = await create_session(journal, "/tmp", "t")
        await journal.append(name, *TURN)
        await purge_sessions(database, [name], journal.prepare_purge)
        assert reader.sessions() == [] and reader.search("anchor") == []
        first = journal.append_timed(
            name, [(1, SessionCreated(name, "/tmp", "again")), *((1, event) for event in TURN)]
        )
        assert (await first).seq == 5
        assert [hit.seq for hit in reader.search("anchor")] == [2]

    play(path, work)
    found = dump(path)
    assert rebuilt(path) == found


def test_a_failing_session_does_not_keep_the_others_from_being_written(
    path: Path, later: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[object] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: reported.append(args.exc_type))

    async def work(journal: Journal, reader: Reader, database: Database) -> None:
        names = [await create_session(journal, "/tmp", title) for title in ("bad", "good")]

        def fail(db: sqlite3.Connection, number: int, steps: list[Step]) -> None:
            if number == 1:
                raise ZeroDivisionError
            write_steps(db, number, steps)

        monkeypatch.setattr(derived_rows, "write_steps", fail)
        for name in names:
            await journal.append(name, *TURN)
        assert {row.id: row.last_seq for row in reader.sessions()} == {names[0]: 0, names[1]: 5}
        monkeypatch.setattr(derived_rows, "write_steps", write_steps)
        await journal.append(names[0], TURN[0])
        assert {row.id: row.last_seq for row in reader.sessions()} == {names[0]: 6, names[1]: 5}

    play(path, work)
    assert reported == [ZeroDivisionError]
    found = dump(path)
    assert rebuilt(path) == found
