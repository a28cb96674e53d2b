"""Followed sessions of other agents grow here as they are written, without duplicates and at little cost."""

import asyncio
import json
import os
import shutil
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from core.domain.events import Replied, RunEnded, UserMessage
from core.domain.problems import Problem
from core.domain.sessions import SessionRow
from core.exchange import session_follower
from core.exchange.transcript_poller import FULL_SCAN_INTERVAL, RECENT_S, TranscriptPoller
from tests.core.exchange.home import Home, home
from tests.core.exchange.test_importers import (
    AIDER,
    AMP,
    CLAUDE,
    CODEX,
    COPILOT,
    DROID,
    FOREIGN,
    GEMINI,
    KIMI,
    KIMI_CODE,
    OLDER,
    PI,
    ROO,
    held,
)

BOUND_S = 30
PLACES = {
    CLAUDE: ".claude/projects/-home-ada",
    OLDER: ".claude/projects/-home-ada",
    CODEX: ".codex/sessions/2026/11/22",
    PI: ".pi/agent/sessions/--home-me-garden--",
    GEMINI: ".gemini/tmp/garden/chats",
    COPILOT: ".copilot/session-state/dddddddd-1111-4222-8333-444444444444",
    KIMI: ".kimi/sessions/97d66ca4/66666666-2222-4333-8444-555555555555",
    KIMI_CODE: ".kimi-code/sessions/garden/55555555-2222-4333-8444-555555555555/agents/main",
    DROID: ".factory/sessions/-home-me-garden",
    AIDER: "work/garden",
    AMP: ".local/share/amp/threads",
    ROO: ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/tasks/5b1d9f0a-0000-4000-8000-000000000001",
}


class Watched:
    """A data file with a home folder of a user whose agents are followed."""

    def __init__(self, made: Home, folder: Path) -> None:
        self.made, self.folder = made, folder
        self.troubles: list[BaseException] = []
        self._changed = asyncio.Event()
        made.journal.listen(lambda told: self._changed.set())

    def place(self, sample: Path) -> Path:
        path = self.folder / PLACES[sample] / sample.name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    async def until(self, true: Callable[[list[SessionRow]], object]) -> list[SessionRow]:
        async with asyncio.timeout(BOUND_S):
            while not true(rows := self.made.reader.sessions()) and not self.troubles:
                self._changed.clear()
                await self._changed.wait()
        return rows

    def trouble(self, error: BaseException) -> None:
        self.troubles.append(error)
        self._changed.set()


@asynccontextmanager
async def watched(tmp_path: Path) -> AsyncIterator[Watched]:
    async with home(tmp_path / "data" / "a.db") as made:
        person = Watched(made, tmp_path / "person")
        person.folder.mkdir(exist_ok=True)
        task = asyncio.create_task(made.exchange.follow_sessions(person.folder, person.trouble))
        try:
            yield person
        finally:
            task.cancel()
            await asyncio.wait({task})


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_follower, "TICK_S", 0.02)
    monkeypatch.setattr(session_follower, "IDLE_RATIO", 1)


def run(tmp_path: Path, act: Callable[[Watched], Awaitable[None]]) -> None:
    async def main() -> None:
        async with watched(tmp_path) as person:
            await act(person)

    asyncio.run(main())


async def imported(tmp_path: Path, path: Path) -> tuple[int, ...]:
    async with home(tmp_path / "at once.db") as made:
        return await held(made, (await made.exchange.import_file(path)).sessions)


@pytest.mark.parametrize(
    "sample",
    [CLAUDE, CODEX, OLDER, PI, GEMINI, COPILOT, KIMI, KIMI_CODE, DROID, AIDER],
    ids=[
        "Claude Code",
        "Codex",
        "between the lines",
        "pi",
        "Gemini CLI",
        "Copilot CLI",
        "Kimi CLI",
        "Kimi Code",
        "Droid",
        "Aider",
    ],
)
def test_a_session_grows_line_by_line_and_equals_an_import(sample: Path, tmp_path: Path) -> None:
    lines = sample.read_bytes().splitlines(keepends=True)

    async def act(person: Watched) -> None:
        path = person.place(sample)
        with path.open("wb", buffering=0) as file:
            for place, line in enumerate(lines):
                file.write(line[:20])
                await asyncio.sleep(0)
                file.write(line[20:])
                if place == len(lines) // 2:
                    await person.until(len)  # the session is shown before the transcript is complete
                await asyncio.sleep(0)
        if (beside := sample.with_suffix("")).is_dir():
            shutil.copytree(beside, path.with_suffix(""))
            os.utime(path)
        whole = await imported(tmp_path, path)
        used = whole[6] + whole[7]
        await person.until(lambda rows: len(rows) == whole[0] and sum(row.tokens for row in rows) == used)
        rows = await person.until(lambda rows: all(row.status == "done" for row in rows))
        found = await held(person.made, tuple(row.id for row in rows))
        # A reply whose lines were read apart is imported as two; nothing else is duplicated.
        assert (found[:2], found[3:]) == (whole[:2], whole[3:]) and found[2] - whole[2] in range(3)
        assert not person.troubles
        row = person.made.reader.imported_session(rows[0].imported_from)
        assert row
        again = await person.made.exchange.import_file(path)  # a manual import of a followed file
        assert again.added_events == 0

    run(tmp_path, act)


def test_a_session_runs_while_a_call_is_open_and_is_done_after_the_last_message(tmp_path: Path) -> None:
    async def act(person: Watched) -> None:
        path, lines = person.place(OLDER), OLDER.read_bytes().splitlines(keepends=True)
        first = next(place for place, line in enumerate(lines) if b"tool_use" in line)
        path.write_bytes(b"".join(lines[: first + 1]))
        (row,) = await person.until(lambda rows: rows and rows[0].activity_kind not in ("", "thinking", "reply"))
        assert row.status == "running"
        with path.open("ab") as file:
            file.writelines(lines[first + 1 :])
        rows = await person.until(lambda rows: len(rows) == 2 and all(row.status == "done" for row in rows))
        events = [event for each in rows for event in await person.made.events(each.id)]
        assert all(event.status == "completed" for event in events if isinstance(event, RunEnded))

    run(tmp_path, act)


def test_old_files_are_skipped_until_they_change(tmp_path: Path) -> None:
    async def act(person: Watched) -> None:
        old, new = person.place(CLAUDE), person.place(CODEX)
        shutil.copy(CODEX, new)
        await person.until(len)
        assert [row.imported_from.split(":")[0] for row in person.made.reader.sessions()] == ["Codex"]
        with old.open("ab") as file:
            file.write(b'{"type": "summary", "summary": "so it went", "leafUuid": "u"}\n')
        rows = await person.until(lambda rows: len(rows) > 1)
        assert {row.imported_from.split(":")[0] for row in rows} == {"Codex", "Claude Code"}

    place = tmp_path / "person" / PLACES[CLAUDE]
    place.mkdir(parents=True)
    shutil.copy(CLAUDE, place)
    os.utime(place / CLAUDE.name, (1_700_000_000, 1_700_000_000))
    run(tmp_path, act)


def test_a_rewritten_file_is_reported_and_imports_nothing_twice(tmp_path: Path) -> None:
    async def act(person: Watched) -> None:
        path = person.place(CODEX)
        shutil.copy(CODEX, path)
        (row,) = await person.until(lambda rows: rows and rows[0].status == "done")
        before = await person.made.events(row.id)
        lines = CODEX.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[:3]))
        other = [line.replace(b"o", b"0") for line in lines]
        path.with_suffix(".new").write_bytes(b"".join([*lines[:3], *other[3:], *other]))
        path.with_suffix(".new").replace(path)
        await person.until(lambda rows: False)
        (trouble,) = person.troubles
        assert isinstance(trouble, Problem) and "has changed since" in str(trouble)
        after = await person.made.events(row.id)
        assert [e for e in after if isinstance(e, UserMessage | Replied)] == [
            e for e in before if isinstance(e, UserMessage | Replied)
        ]

    run(tmp_path, act)


def test_a_watch_that_is_stopped_and_restarted_continues(tmp_path: Path) -> None:
    lines = CLAUDE.read_bytes().splitlines(keepends=True)

    async def first(person: Watched) -> None:
        person.place(CLAUDE).write_bytes(b"".join(lines[:8]))
        await person.until(lambda rows: rows and rows[0].steps > 1)

    async def then(person: Watched) -> None:
        with person.place(CLAUDE).open("ab") as file:
            file.writelines(lines[8:])
        (row, *_) = await person.until(lambda rows: rows and rows[0].status == "done" and rows[0].last_seq > 30)
        events = await person.made.events(row.id)
        said = [event.text.head for event in events if isinstance(event, UserMessage)]
        assert len(said) == len(set(said)) == 2

    run(tmp_path, first)
    run(tmp_path, then)


def test_a_write_error_is_reported_and_nothing_is_skipped(tmp_path: Path) -> None:
    lines = CLAUDE.read_bytes().splitlines(keepends=True)
    data, away = tmp_path / "data" / "a.db", tmp_path / "away.db"

    async def act(person: Watched) -> None:
        path = person.place(CLAUDE)
        path.write_bytes(b"".join(lines[:8]))
        await person.until(lambda rows: rows and rows[0].steps > 1)
        data.rename(away)
        with path.open("ab") as file:
            file.writelines(lines[8:12])
        await person.until(lambda rows: False)
        assert "was removed" in str(person.troubles.pop())
        away.rename(data)
        with path.open("ab") as file:
            file.writelines(lines[12:])
        (row, *_) = await person.until(lambda rows: rows and rows[0].status == "done" and rows[0].last_seq > 30)
        whole = await imported(tmp_path, path)
        assert (await held(person.made, (row.id,)))[1:] == whole[1:] and not person.troubles

    run(tmp_path, act)


def test_opencode_grows_in_its_database(tmp_path: Path) -> None:
    async def act(person: Watched) -> None:
        path = person.folder / ".local" / "share" / "opencode" / "opencode.db"
        path.parent.mkdir(parents=True)
        now = int(time.time() * 1000)
        with closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("CREATE TABLE project (id)")
            db.execute("CREATE TABLE session (id, parent_id, directory, title, time_created, time_updated)")
            db.execute("CREATE TABLE message (id, session_id, time_created, data)")
            db.execute("CREATE TABLE part (id, message_id, data)")
            db.execute("INSERT INTO session VALUES ('old', NULL, '/', 'Long ago', 1, 1)")
            db.execute("INSERT INTO message VALUES ('m0', 'old', 1, '{\"role\": \"user\"}')")
            db.execute('INSERT INTO part VALUES (\'p0\', \'m0\', \'{"type": "text", "text": "long ago"}\')')
            db.execute("INSERT INTO session VALUES ('s', NULL, '/', 'Now', ?, ?)", (now, now))
            db.execute("INSERT INTO message VALUES ('m1', 's', 1, '{\"role\": \"user\"}')")
            db.execute('INSERT INTO part VALUES (\'p1\', \'m1\', \'{"type": "text", "text": "do it"}\')')
            db.commit()
            (row,) = await person.until(len)
            assert row.title == "Now"
            db.execute(
                'INSERT INTO message VALUES (\'m2\', \'s\', 2, \'{"role": "assistant", "time": {"completed": 3}}\')'
            )
            db.execute('INSERT INTO part VALUES (\'p2\', \'m2\', \'{"type": "text", "text": "done"}\')')
            db.commit()  # written to the WAL file
            (row,) = await person.until(lambda rows: rows[0].status == "done" and rows[0].turns)
            assert [e.text.head for e in await person.made.events(row.id) if isinstance(e, Replied)] == ["done"]

    run(tmp_path, act)


@pytest.mark.parametrize("sample", [AMP, ROO], ids=["Amp", "Roo Code"])
def test_a_document_is_followed_as_it_is_rewritten(sample: Path, tmp_path: Path) -> None:
    async def act(person: Watched) -> None:
        path = person.place(sample)
        for beside in sample.parent.glob("*.json"):
            whole = json.loads(beside.read_bytes())
            messages = whole.get("messages") if isinstance(whole, dict) else whole
            if isinstance(messages, list):
                del messages[3:]
            path.with_name(beside.name).write_text(json.dumps(whole))
        await person.until(lambda rows: len(rows) == 1 and rows[0].turns)
        shutil.copytree(sample.parent, path.parent, dirs_exist_ok=True)
        os.utime(path)
        used = sum((await imported(tmp_path, path))[6:8])
        (row,) = await person.until(lambda rows: rows[0].tokens == used and rows[0].status == "done")
        assert await held(person.made, (row.id,)) == await imported(tmp_path / "again", path) and not person.troubles

    run(tmp_path, act)


def test_goose_grows_in_its_database(tmp_path: Path) -> None:
    async def act(person: Watched) -> None:
        path = person.folder / ".local" / "share" / "goose" / "sessions" / "sessions.db"
        path.parent.mkdir(parents=True)
        shutil.copy(FOREIGN / "goose" / "sessions.db", path)
        with closing(sqlite3.connect(path)) as db:
            last = db.execute("SELECT * FROM messages ORDER BY id DESC LIMIT 1").fetchone()
            counted = db.execute("SELECT * FROM usage_ledger ORDER BY id DESC LIMIT 1").fetchone()
            db.execute("DELETE FROM messages WHERE id = ?", (last[0],))
            db.execute("DELETE FROM usage_ledger WHERE id = ?", (counted[0],))
            db.execute("UPDATE sessions SET updated_at = datetime('now')")
            db.commit()
            (row,) = await person.until(lambda rows: rows and rows[0].turns)
            assert (row.title, row.tokens) == ("Mend the total", 134)
            db.execute(f"INSERT INTO messages VALUES ({', '.join('?' * len(last))})", last)
            db.commit()  # the reply is complete, its request is not yet counted
            db.execute(f"INSERT INTO usage_ledger VALUES ({', '.join('?' * len(counted))})", counted)
            db.commit()
            (row,) = await person.until(lambda rows: rows[0].status == "done")
            assert row.tokens == 278

    run(tmp_path, act)


def test_polling_is_cheap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a thousand old sessions in a hundred folders, only the top folders are checked at most polls."""
    for folder in range(100):
        place = tmp_path / ".claude" / "projects" / f"p{folder}"
        place.mkdir(parents=True)
        for n in range(10):
            (place / f"{n}.jsonl").write_text("{}\n")
            os.utime(place / f"{n}.jsonl", (1, 1))
        os.utime(place, (1, 1))
    looks, stat = 0, Path.stat

    def counted(path: Path, **more: bool) -> os.stat_result:
        nonlocal looks
        looks += 1
        return stat(path, **more)

    look = TranscriptPoller(tmp_path, (".claude/projects/*/*.jsonl",))
    assert look.changed_files() == []
    monkeypatch.setattr("pathlib.Path.stat", counted)
    assert look.changed_files() == [] and looks < 10
    (tmp_path / ".claude" / "projects" / "p7" / "3.jsonl").write_text("{}\n{}\n")
    found = [path.name for _ in range(FULL_SCAN_INTERVAL) for path in look.changed_files()]
    assert found == ["3.jsonl"] and looks < 10_000 and RECENT_S > 60
