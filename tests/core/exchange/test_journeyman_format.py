"""Journeyman's own format: an export imports losslessly, and a bad file imports nothing."""

import asyncio
import json
import os
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.domain.events import (
    EventRecord,
    FileChanged,
    RunEnded,
    RunRated,
    RunStarted,
    SessionCreated,
    SessionEvent,
    SubagentStarted,
    UserMessage,
)
from core.domain.problems import Problem
from core.domain.session_metadata import SessionPinned, SessionRenamed
from core.domain.text import Attachment, Text
from core.store.blobs import blob_hash
from tests.core.domain.event_strategies import any_event
from tests.core.exchange.home import Home, home
from tests.sessions import create_session

TIMES = int(os.environ.get("JOURNEYMAN_SESSIONS", "40"))
KINDS = [kind for kind in any_event.__globals__["EVENT_CLASSES"].values() if kind is not SessionCreated]
LONG = "word " * 3000
PICTURE = b"\x89PNG\x00\xff" * 50


def same(before: list[EventRecord], after: list[EventRecord]) -> bool:
    """Compare events except for the import source and the events added at the end by the import."""
    plain = [(e.session, e.seq, e.run, e.at, _unmarked(e.event)) for e in after[: len(before)]]
    return plain == [(e.session, e.seq, e.run, e.at, _unmarked(e.event)) for e in before]


def _unmarked(event: SessionEvent) -> SessionEvent:
    return replace(event, imported_from="") if isinstance(event, SessionCreated) else event


async def family(made: Home) -> str:
    """Create a session with long texts, file changes, an image and a sub-agent."""
    session = await create_session(made.journal, "/tmp/here", "A session")
    before, after = b"one\n", "twö\n".encode()
    named = {blob_hash(body): body for body in (before, after, PICTURE)}
    picture = Attachment("a.png", "image/png", blob_hash(PICTURE), len(PICTURE))
    changed = FileChanged("r1c1", "a.txt", blob_hash(before), blob_hash(after), 1, 1)
    await made.journal.append(session, UserMessage(Text(LONG), (picture,)), changed, blobs=named)
    child = "chchch22"
    await made.journal.append(session, SubagentStarted("r1c2", child, "helper", Text("do it")))
    opened = SessionCreated(child, "/tmp/here", "Below", session, "r1c2", "helper", 1)
    await made.journal.append(child, opened, UserMessage(Text(LONG + "below")))
    return session


def test_a_session_family_round_trips_with_all_contents(tmp_path: Path) -> None:
    async def main() -> None:
        async with home(tmp_path / "a" / "a.db") as one, home(tmp_path / "b" / "b.db") as two:
            session = await family(one)
            done = await one.exchange.export(session, "json", tmp_path / "out.journeyman.json", keep_secrets=True)
            assert done.size == done.path.stat().st_size > len(LONG)
            brought = await two.exchange.import_file(done.path)
            assert brought.sessions == (session, "chchch22") and brought.agent == "Journeyman"
            for name in brought.sessions:
                assert same(await one.entries(name), await two.entries(name))
                assert await one.events(name) == [_unmarked(e) for e in (await two.events(name))[:-1]]
            for body in (b"one\n", "twö\n".encode(), PICTURE):
                assert two.reader.find_blob(blob_hash(body)) == body
            row = two.reader.session("chchch22")
            assert row and row.parent == session and row.imported_from == "Journeyman:chchch22"
            assert (await two.exchange.import_file(done.path)).added_events == 0
            assert (
                await one.exchange.import_file(done.path)
            ).added_events == 0  # the original session is already in this data file
            assert len(two.reader.sessions()) == 2

    asyncio.run(main())


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("own")


@settings(max_examples=TIMES, deadline=None, suppress_health_check=list(HealthCheck))
@given(events=st.lists(any_event(KINDS), max_size=25), number=st.integers(0, 10**9))
def test_any_session_round_trips(place: Path, events: list[SessionEvent], number: int) -> None:
    async def main() -> None:
        async with home(place / "from.db") as one, home(place / "to.db") as two:
            session = await create_session(one.journal, "/tmp/here", f"Session {number}")
            if events:
                await one.journal.append(session, *events)
            path = (await one.exchange.export(session, "json", place / "any.journeyman.json", keep_secrets=True)).path
            await two.exchange.import_file(path)
            assert same(await one.entries(session), await two.entries(session))
            assert not two.reader.questions() and not two.reader.permission_requests()
            found = two.reader.session(session)
            assert found and found.imported_from and found.status not in {"running", "waiting", "paused", "interrupted"}

    asyncio.run(main())


def change(lines: list[str], place: int, **changes: Any) -> list[str]:
    plain = json.loads(lines[place])
    return [*lines[:place], json.dumps({**plain, **changes}), *lines[place + 1 :]]


BAD: dict[str, tuple[Callable[[list[str]], list[str]], str]] = {
    "a newer format": (lambda lines: change(lines, 0, journeyman=2), "Line 1: expected format 1, found 2"),
    "no head": (lambda lines: lines[1:], "Its format is unknown"),
    "a gap": (lambda lines: [*lines[:2], *lines[3:]], "Line 3: expected event 2 of"),
    "another order": (lambda lines: [lines[0], lines[1], lines[3], lines[2], *lines[4:]], "expected event 2 of"),
    "a foreign session": (
        lambda lines: change(lines, 2, session="zzzz"),
        "Line 3: expected an event of a session that",
    ),
    "a kind of a newer version": (
        lambda lines: change(lines, 2, kind="dreamt"),
        "Line 3: expected a known kind of event",
    ),
    "a wrong field": (lambda lines: change(lines, 2, fact={"text": 7}), "Line 3: expected an event of the kind"),
    "no time": (lambda lines: change(lines, 2, at="now"), 'Line 3: expected "at" in microseconds'),
    "a cut": (lambda lines: lines[:-1], "expected the footer"),
    "half a line": (lambda lines: [*lines[:2], lines[2][:20]], "Line 3: expected a line of JSON"),
    "words after the end": (lambda lines: [*lines, lines[1]], "expected nothing after the footer"),
    "too few counted": (lambda lines: change(lines, len(lines) - 1, facts=1), "expected 3 events"),
    "a number that no database holds": (
        lambda lines: [*lines[:2], lines[2].replace('"fact":{', '"fact":{"n":' + str(2**70) + ","), *lines[3:]],
        "Line 3: expected a line of JSON (a number is too large)",
    ),
    "an id like an option": (lambda lines: change(lines, 0, sessions=["--data-dir=x"]), "Line 1: expected an id of"),
    "an id like a path": (lambda lines: change(lines, 0, sessions=["../../x"]), "Line 1: expected an id of"),
    "a long id": (lambda lines: change(lines, 0, sessions=["x" * 5_000]), "Line 1: expected an id of"),
    "an id that is not Unicode": (lambda lines: change(lines, 0, sessions=["\ud800"]), "Line 1: expected an id of"),
    "deep": (lambda lines: [*lines[:1], "[" * 100_000, *lines[1:]], "Line 2: expected"),
}


@pytest.mark.parametrize("name", BAD)
def test_an_error_names_its_line_and_nothing_is_imported(name: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with home(tmp_path / "a" / "a.db") as one, home(tmp_path / "b" / "b.db") as two:
            session = await create_session(one.journal, "/tmp/here", "A session")
            await one.journal.append(session, UserMessage(Text("one")), UserMessage(Text("two")))
            lines = (await one.export_text(session, "json")).splitlines()
            spoil, words = BAD[name]
            path = tmp_path / "bad.journeyman.json"
            path.write_text("\n".join(spoil(lines)) + "\n")
            with pytest.raises(Problem) as caught:
                await two.exchange.import_file(path)
            assert words in str(caught.value)
            assert two.reader.sessions() == []

    asyncio.run(main())


def test_changed_contents_are_detected(tmp_path: Path) -> None:
    async def main() -> None:
        async with home(tmp_path / "a" / "a.db") as one, home(tmp_path / "b" / "b.db") as two:
            session = await family(one)
            told = await one.export_text(session, "json", keep_secrets=True)
            path = tmp_path / "bad.journeyman.json"
            path.write_text(told.replace('"base64":"iVBO', '"base64":"iVBP', 1))
            with pytest.raises(Problem, match="SHA-256"):
                await two.exchange.import_file(path)
            assert two.reader.sessions() == []

    asyncio.run(main())


def test_an_interrupted_import_leaves_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with home(tmp_path / "a" / "a.db") as one, home(tmp_path / "b" / "b.db") as two:
            session = await create_session(one.journal, "/tmp/here", "A session")
            await one.journal.append(session, *[UserMessage(Text(f"{n} {LONG}")) for n in range(1500)])
            path = (await one.exchange.export(session, "json", tmp_path / "long.journeyman.json")).path
            heard: list[int] = []

            def hear(done: int, size: int) -> None:
                heard.append(done)
                assert 0 < done <= size
                task.cancel()

            task = asyncio.create_task(two.exchange.import_file(path, hear))
            await asyncio.wait({task})
            assert task.cancelled() and len(heard) == 1
            assert two.reader.sessions() == []
            assert (await two.exchange.import_file(path)).added_events == 1501

    asyncio.run(main())


def test_a_file_with_other_events_replaces_no_imported_session(tmp_path: Path) -> None:
    async def main() -> None:
        async with home(tmp_path / "a" / "a.db") as one, home(tmp_path / "b" / "b.db") as two:
            session = await family(one)
            path = tmp_path / "out.journeyman.json"
            first = await one.export_text(session, "json", keep_secrets=True)
            path.write_text(first)
            await two.exchange.import_file(path)
            await one.journal.append(session, UserMessage(Text("more")))
            longer = await one.export_text(session, "json", keep_secrets=True)
            path.write_text(longer.replace('"A session"', '"Another"'))
            before = [entry async for entry in two.journal.read(session)]
            with pytest.raises(Problem, match="with other events"):
                await two.exchange.import_file(path)
            assert [entry async for entry in two.journal.read(session)] == before
            path.write_text(longer)
            assert (await two.exchange.import_file(path)).added_events
            assert await one.events(session) == [_unmarked(event) for event in (await two.events(session))[:-1]]

    asyncio.run(main())


def test_a_replaced_import_keeps_what_the_user_added_and_fails_as_a_whole(tmp_path: Path) -> None:
    """The user rates, renames and pins an imported session, and later imports the session again with its next run."""

    async def main() -> None:
        async with home(tmp_path / "a" / "a.db") as one, home(tmp_path / "b" / "b.db") as two:
            session = await family(one)
            await one.journal.append(session, RunStarted("model"), UserMessage(Text("first")), RunEnded("completed"))
            path = tmp_path / "out.journeyman.json"
            path.write_text(await one.export_text(session, "json", keep_secrets=True))
            await two.exchange.import_file(path)
            own = (RunRated(1, "down", Text(LONG), ("slow",)), SessionRenamed("Mine"), SessionPinned(True))
            await two.journal.append(session, *own)
            before = await two.entries(session)
            await one.journal.append(session, RunStarted("model"), UserMessage(Text("more")), RunEnded("completed"))
            path.write_text(await one.export_text(session, "json", keep_secrets=True))
            stop = "CREATE TEMP TRIGGER stop BEFORE INSERT ON event WHEN NEW.payload LIKE '%\"more\"%' "
            await two.database.run(lambda db: db.execute(f"{stop} BEGIN SELECT RAISE(ABORT, 'stopped'); END"))
            with pytest.raises(sqlite3.IntegrityError):
                await two.exchange.import_file(path)
            assert await two.entries(session) == before
            await two.database.run(lambda db: db.execute("DROP TRIGGER stop"))
            assert (await two.exchange.import_file(path)).added_events
            told = await one.events(session)
            found = await two.events(session)
            assert [_unmarked(event) for event in found[: len(told)]] == told
            rating = found[-3]
            assert isinstance(rating, RunRated) and rating.note.head == LONG and rating.tags == ("slow",)
            assert tuple(found[-2:]) == own[1:]
            row = two.reader.session(session)
            assert row and (row.title, bool(row.pinned)) == ("Mine", True)

    asyncio.run(main())
