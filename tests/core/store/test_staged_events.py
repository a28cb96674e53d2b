"""Staged events are committed with the next ones of their session, in their order, and never lost silently."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import core.store.staged_events as staged_events
from core.domain.events import (
    CallStarted,
    EventRecord,
    RequestSent,
    RunEnded,
    RunStarted,
    SessionEvent,
    ToolReturned,
    UserMessage,
)
from core.domain.problems import Problem
from core.domain.text import Text
from core.store.database import Database
from core.store.journal import Journal
from core.store.journal_update import JournalUpdate
from core.store.reader import Reader
from tests.core.store.made import journal_at
from tests.sessions import create_session

START: tuple[SessionEvent, ...] = (UserMessage(Text("go")), RunStarted("m"))
CALL = CallStarted("r1c1", "read", "read", "a.txt")
RESULT = ToolReturned("r1c1", Text("words"))
REQUEST = RequestSent("m", 2)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journeyman.db"


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but a later append has the staged events committed."""
    monkeypatch.setattr(staged_events, "HOLD_S", 3600.0)


def play(path: Path, work: Callable[[Journal, Reader, Database], Awaitable[None]]) -> None:
    async def main(journal: Journal, reader: Reader, database: Database) -> None:
        await work(journal, reader, database)

    with journal_at(path) as (journal, reader, database):
        asyncio.run(main(journal, reader, database))


async def stored(journal: Journal, session: str) -> list[EventRecord]:
    return [entry async for entry in journal.read(session)]


def test_staged_events_get_the_records_they_were_promised_in_one_commit(path: Path, patient: None) -> None:
    async def work(journal: Journal, reader: Reader, database: Database) -> None:
        name = await create_session(journal, "/tmp", "t")
        await journal.append(name, *START)
        told: list[JournalUpdate] = []
        journal.listen(told.append)
        commits: list[int] = []
        transact = database._transact

        def count(db: sqlite3.Connection, works: list[Callable[[sqlite3.Connection], Any]]) -> list[Any]:
            commits.append(len(works))
            return transact(db, works)

        database._transact = count  # type: ignore[method-assign]
        promised = [*journal.stage(name, CALL), *journal.stage(name, RESULT)]
        assert told == [] and len(await stored(journal, name)) == 3
        await (await journal.append_staged(name, REQUEST))
        assert [update.entry for update in told][:2] == promised == (await stored(journal, name))[3:5]
        assert commits == [1] and isinstance(told[2].entry.event, RequestSent)

    play(path, work)


def test_staged_events_precede_what_others_append(path: Path, patient: None) -> None:
    async def work(journal: Journal, reader: Reader, database: Database) -> None:
        name = await create_session(journal, "/tmp", "t")
        await journal.append(name, *START)
        promised = journal.stage(name, CALL, RESULT)
        message = await journal.append(name, UserMessage(Text("wait")))
        assert (await stored(journal, name))[3:5] == promised and message.seq == 6
        assert (await (await journal.append_staged(name, REQUEST))).seq == 7

    play(path, work)


def test_staged_events_are_committed_by_themselves(path: Path) -> None:
    async def work(journal: Journal, reader: Reader, database: Database) -> None:
        name = await create_session(journal, "/tmp", "t")
        await journal.append(name, *START)
        committed = asyncio.Event()
        journal.listen(lambda update: committed.set())
        promised = journal.stage(name, CALL)
        await asyncio.wait_for(committed.wait(), 30)
        assert (await stored(journal, name))[3:] == promised

    play(path, work)


def test_nothing_is_staged_when_its_record_cannot_be_known(path: Path, patient: None) -> None:
    async def work(journal: Journal, reader: Reader, database: Database) -> None:
        name = await create_session(journal, "/tmp", "t")
        assert journal.stage("unknown", CALL) == []
        appending = journal.start_append(name, *START)
        assert journal.stage(name, CALL) == []
        await appending
        assert journal.stage(name, ToolReturned("r1c1", Text("long " * 2000))) == []
        with pytest.raises(OverflowError):
            await journal.append(name, RunStarted("m", max_turns=2**63))
        assert journal.stage(name, CALL) == []
        await journal.append(name, UserMessage(Text("again")))
        assert [entry.seq for entry in journal.stage(name, CALL)] == [5]
        await journal.append(name, RunEnded("completed"))
        assert journal.stage(name, CALL) == []

    play(path, work)


def test_a_commit_of_staged_events_that_fails_is_raised_by_the_next(path: Path, patient: None) -> None:
    """Otherwise a request would follow results that are not in the event log."""

    async def work(journal: Journal, reader: Reader, database: Database) -> None:
        name = await create_session(journal, "/tmp", "t")
        await journal.append(name, *START)
        journal.stage(name, CALL, RESULT)
        away = path.with_name("away.db")
        await asyncio.to_thread(path.rename, away)
        with pytest.raises(Problem, match="removed"):
            await journal.append(name, UserMessage(Text("wait")))
        await asyncio.to_thread(away.rename, path)
        with pytest.raises(Problem, match="removed"):
            await journal.append_staged(name, REQUEST)
        assert len(await stored(journal, name)) == 3
        assert (await (await journal.append_staged(name, REQUEST))).seq == 4

    play(path, work)
