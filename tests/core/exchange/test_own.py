"""Our own format: what was exported comes back equal, and a bad file brings nothing."""

import asyncio
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.domain.events import Delegated, Entry, FileChanged, PersonSpoke, RunEvent, SessionOpened
from core.domain.problems import Problem
from core.domain.text import Attachment, Text
from core.store.blobs import blob_hash
from tests.core.domain.facts import any_event
from tests.core.exchange.home import Home, home

TIMES = int(os.environ.get("JOURNEYMAN_SESSIONS", "40"))
KINDS = [kind for kind in any_event.__globals__["KINDS"].values() if kind is not SessionOpened]
LONG = "word " * 3000
PICTURE = b"\x89PNG\x00\xff" * 50


def same(before: list[Entry], after: list[Entry]) -> bool:
    """But for the mark of where it came from, and what was said when it was imported."""
    plain = [(e.session, e.seq, e.run, e.at, _unmarked(e.event)) for e in after[: len(before)]]
    return plain == [(e.session, e.seq, e.run, e.at, _unmarked(e.event)) for e in before]


def _unmarked(event: RunEvent) -> RunEvent:
    return replace(event, source="") if isinstance(event, SessionOpened) else event


async def family(made: Home) -> str:
    """A session with long texts, files, a picture and a sub-agent."""
    session = await made.journal.open("/tmp/here", "A session")
    before, after = b"one\n", "twö\n".encode()
    named = {blob_hash(body): body for body in (before, after, PICTURE)}
    picture = Attachment("a.png", "image/png", blob_hash(PICTURE), len(PICTURE))
    changed = FileChanged("r1c1", "a.txt", blob_hash(before), blob_hash(after), 1, 1)
    await made.journal.append(session, PersonSpoke(Text(LONG), (picture,)), changed, blobs=named)
    child = "chchch22"
    await made.journal.append(session, Delegated("r1c2", child, "helper", Text("do it")))
    opened = SessionOpened(child, "/tmp/here", "Below", session, "r1c2", "helper", 1)
    await made.journal.append(child, opened, PersonSpoke(Text(LONG + "below")))
    return session


def test_a_family_comes_back_equal_with_all_its_contents(tmp_path: Path) -> None:
    async def main() -> None:
        async with home(tmp_path / "a" / "a.db") as one, home(tmp_path / "b" / "b.db") as two:
            session = await family(one)
            done = await one.desk.export(session, "json", tmp_path / "out.journeyman.json", keep_secrets=True)
            assert done.size == done.path.stat().st_size > len(LONG)
            brought = await two.desk.bring(done.path)
            assert brought.sessions == (session, "chchch22") and brought.agent == "Journeyman"
            for name in brought.sessions:
                assert same(await one.entries(name), await two.entries(name))
                assert await one.events(name) == [_unmarked(e) for e in (await two.events(name))[:-1]]
            for body in (b"one\n", "twö\n".encode(), PICTURE):
                assert two.reader.kept(blob_hash(body)) == body
            row = two.reader.session("chchch22")
            assert row and row.parent == session and row.source == "Journeyman:chchch22"
            assert (await two.desk.bring(done.path)).added == 0
            assert (await one.desk.bring(done.path)).added == 0  # it is a session of this person
            assert len(two.reader.sessions()) == 2

    asyncio.run(main())


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("own")


@settings(max_examples=TIMES, deadline=None, suppress_health_check=list(HealthCheck))
@given(events=st.lists(any_event(KINDS), max_size=25), number=st.integers(0, 10**9))
def test_any_session_comes_back_equal(place: Path, events: list[RunEvent], number: int) -> None:
    async def main() -> None:
        async with home(place / "from.db") as one, home(place / "to.db") as two:
            session = await one.journal.open("/tmp/here", f"Session {number}")
            if events:
                await one.journal.append(session, *events)
            path = (await one.desk.export(session, "json", place / "any.journeyman.json", keep_secrets=True)).path
            await two.desk.bring(path)
            assert same(await one.entries(session), await two.entries(session))
            assert not two.reader.questions() and not two.reader.consents()
            found = two.reader.session(session)
            assert found and found.source and found.status not in {"running", "waiting", "paused", "interrupted"}

    asyncio.run(main())


def change(lines: list[str], place: int, **changes: Any) -> list[str]:
    plain = json.loads(lines[place])
    return [*lines[:place], json.dumps({**plain, **changes}), *lines[place + 1 :]]


BAD: dict[str, tuple[Callable[[list[str]], list[str]], str]] = {
    "a newer format": (lambda lines: change(lines, 0, journeyman=2), "Line 1: expected format 1, found 2"),
    "no head": (lambda lines: lines[1:], "Its form is not known"),
    "a gap": (lambda lines: [*lines[:2], *lines[3:]], "Line 3: expected fact 2 of"),
    "another order": (lambda lines: [lines[0], lines[1], lines[3], lines[2], *lines[4:]], "expected fact 2 of"),
    "a foreign session": (lambda lines: change(lines, 2, session="zzzz"), "Line 3: expected a fact of a session that"),
    "a kind of a newer version": (lambda lines: change(lines, 2, kind="dreamt"), "Line 3: expected a kind of fact"),
    "a wrong field": (lambda lines: change(lines, 2, fact={"text": 7}), "Line 3: expected a fact of the kind"),
    "no time": (lambda lines: change(lines, 2, at="now"), 'Line 3: expected "at" in microseconds'),
    "a cut": (lambda lines: lines[:-1], "expected more"),
    "half a line": (lambda lines: [*lines[:2], lines[2][:20]], "Line 3: expected a line of JSON"),
    "words after the end": (lambda lines: [*lines, lines[1]], "expected nothing after the last line"),
    "too few counted": (lambda lines: change(lines, len(lines) - 1, facts=1), "expected 3 facts"),
    "deep": (lambda lines: [*lines[:1], "[" * 100_000, *lines[1:]], "Line 2: expected"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_says_which_line_and_brings_nothing(name: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with home(tmp_path / "a" / "a.db") as one, home(tmp_path / "b" / "b.db") as two:
            session = await one.journal.open("/tmp/here", "A session")
            await one.journal.append(session, PersonSpoke(Text("one")), PersonSpoke(Text("two")))
            lines = (await one.told(session, "json")).splitlines()
            spoil, words = BAD[name]
            path = tmp_path / "bad.journeyman.json"
            path.write_text("\n".join(spoil(lines)) + "\n")
            with pytest.raises(Problem) as caught:
                await two.desk.bring(path)
            assert words in str(caught.value)
            assert two.reader.sessions() == []

    asyncio.run(main())


def test_changed_contents_are_found(tmp_path: Path) -> None:
    async def main() -> None:
        async with home(tmp_path / "a" / "a.db") as one, home(tmp_path / "b" / "b.db") as two:
            session = await family(one)
            told = await one.told(session, "json", keep_secrets=True)
            path = tmp_path / "bad.journeyman.json"
            path.write_text(told.replace('"base64":"iVBO', '"base64":"iVBP', 1))
            with pytest.raises(Problem, match="SHA-256"):
                await two.desk.bring(path)
            assert two.reader.sessions() == []

    asyncio.run(main())


def test_a_cut_import_leaves_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with home(tmp_path / "a" / "a.db") as one, home(tmp_path / "b" / "b.db") as two:
            session = await one.journal.open("/tmp/here", "A session")
            await one.journal.append(session, *[PersonSpoke(Text(f"{n} {LONG}")) for n in range(1500)])
            path = (await one.desk.export(session, "json", tmp_path / "long.journeyman.json")).path
            heard: list[int] = []

            def hear(done: int, size: int) -> None:
                heard.append(done)
                assert 0 < done <= size
                task.cancel()

            task = asyncio.create_task(two.desk.bring(path, hear))
            await asyncio.wait({task})
            assert task.cancelled() and len(heard) == 1
            assert two.reader.sessions() == []
            assert (await two.desk.bring(path)).added == 1501

    asyncio.run(main())
