"""Secrets: our API keys appear in nothing that a run stores, and keys in files are not sent to a model."""

import asyncio
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from app.process.crash import CrashHandler, CrashReport
from core.domain.events import Replied, RunStarted, ToolReturned
from core.settings.schema import Provider
from tests.core.engine.harness import EngineHarness, open_engine, run_bounded
from tests.servers.scripted_server import ScriptedServer, ServerAction, answer, chunk, failure, scripted_server, stream

KEY = "sk-canary-0123456789abcdef0123456789"
THEIRS = "sk-ant-api03-" + "aB3_" * 10
LIST = answer(b'{"data": [{"id": "m", "context_length": 64000}]}', "application/json")
SEES = "env; cat /proc/*/environ | tr '\\0' '\\n'; cat /proc/*/cmdline | tr '\\0' ' '; true"


def call_stream(tool: str, **arguments: Any) -> list[ServerAction]:
    call = {"index": 0, "id": "c1", "function": {"name": tool, "arguments": json.dumps(arguments)}}
    return answer(stream(chunk(tool_calls=[call]), chunk("tool_calls")))


def text_stream(*pieces: str) -> list[ServerAction]:
    return answer(stream(*(chunk(content=piece) for piece in pieces), chunk("stop")))


async def travel(scene: EngineHarness, server: ScriptedServer) -> str:
    box = Provider(name="box", url=server.url, api_key_env="BOX_KEY")
    scene.engine.settings.change(providers=(box,))
    session = await scene.engine.start("Go.", scene.folder, RunStarted("box/m", 9, mode="auto"))
    await scene.engine.wait_idle(session)
    assert scene.status(session) == "done" and scene.bugs == []
    return session


def nowhere(home: Path, key: str = KEY) -> None:
    """Check that the key is in no file of the data folder, including the database log, and in no stored text."""
    files = [path for path in home.rglob("*") if path.is_file()]
    assert any(path.name == "journeyman.db" for path in files)
    assert [path.name for path in files if key.encode() in path.read_bytes()] == []
    with sqlite3.connect(home / "journeyman.db") as db:
        assert not any(key in line for line in db.iterdump())
    db.close()


def test_s1_the_key_is_sent_to_its_provider_and_appears_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands find the key neither in the environment nor in the arguments of any process."""
    monkeypatch.setenv("BOX_KEY", KEY)

    async def test() -> None:
        async with (
            scripted_server(LIST, call_stream("run", command="sh see.sh"), text_stream("Seen.")) as server,
            open_engine(tmp_path) as scene,
        ):
            (scene.folder / "see.sh").write_text(SEES)
            session = await travel(scene, server)
            assert all(KEY in request.headers["authorization"] for request in server.requests)
            assert all(KEY.encode() not in request.body for request in server.requests)
            (seen,) = [event for event in await scene.events(session) if isinstance(event, ToolReturned)]
            assert "PATH=" in scene.engine.full_text(seen.output) and KEY not in scene.engine.full_text(seen.output)
            nowhere(tmp_path)
        nowhere(tmp_path)

    run_bounded(test())


def test_s1_the_crash_log_has_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The crash report does not contain the key either."""
    monkeypatch.setenv("BOX_KEY", KEY)
    told: list[CrashReport] = []
    door = CrashHandler(tmp_path, told.append)
    door.open()
    try:
        door.report(ValueError(f"a header could not be read: Bearer {KEY}"))
    finally:
        door.close()
    log = (tmp_path / "crash.log").read_text()
    assert "ValueError" in log and KEY not in log + str(told)


@pytest.mark.parametrize("cut", [1, 9, len(KEY) - 1])
def test_s4_a_key_echoed_in_two_pieces_is_in_no_draft_and_no_event(
    cut: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOX_KEY", KEY)

    async def test() -> None:
        parts = text_stream(f"It is {KEY[:cut]}", f"{KEY[cut:]}, you know.")
        async with scripted_server(LIST, parts) as server, open_engine(tmp_path) as scene:
            drafts: list[str] = []
            scene.engine.subscribe_live_updates(lambda draft: drafts.append(draft.text))
            session = await travel(scene, server)
            (reply,) = [event for event in await scene.events(session) if isinstance(event, Replied)]
            assert reply.text.head == "It is [key], you know." == "".join(drafts)
        nowhere(tmp_path)

    run_bounded(test())


def test_s5_a_key_in_a_file_that_is_read_is_not_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model sees that something was redacted, and reads everything around it."""
    monkeypatch.setenv("BOX_KEY", KEY)

    async def test() -> None:
        async with (
            scripted_server(LIST, call_stream("read", path="a.md"), text_stream("Read.")) as server,
            open_engine(tmp_path) as scene,
        ):
            (scene.folder / "a.md").write_text(f"Before.\nour key {THEIRS} and\nafter.\n")
            await travel(scene, server)
            last = server.requests[-1].body.decode()
            assert THEIRS not in last and "[API key removed]" in last and "Before." in last and "after." in last

    run_bounded(test())


def test_s5_a_key_that_a_background_command_prints_is_not_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sandbox does not hide a file that another program creates while the command runs."""
    monkeypatch.setenv("BOX_KEY", KEY)

    async def test() -> None:
        replies = (
            call_stream("run", command="sh see.sh", background=True),
            call_stream("check", id="r1c1", wait_s=30),
            text_stream("Seen."),
        )
        async with scripted_server(LIST, *replies) as server, open_engine(tmp_path) as scene:
            (scene.folder / "see.sh").write_text("touch up; until [ -s .env ]; do sleep 0.02; done; cat .env\n")
            travelling = asyncio.create_task(travel(scene, server))
            while not (scene.folder / "up").exists():  # noqa: ASYNC110 - the file system sends no event
                await asyncio.sleep(0.02)
            (scene.folder / ".new").write_text("DB_PASSWORD='correct horse'\nPORT=3000\n")
            (scene.folder / ".new").rename(scene.folder / ".env")
            await travelling
            last = server.requests[-1].body.decode()
            assert "correct horse" not in last and "[password removed]" in last and "PORT=3000" in last

    run_bounded(test())


def test_s9_files_of_a_run_are_readable_by_their_owner_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checked while the database and its WAL file are open, after they were closed, and for backups."""
    monkeypatch.setenv("BOX_KEY", KEY)
    home, work = tmp_path / "home", tmp_path / "work"

    async def test() -> None:
        async with scripted_server(LIST, text_stream("Done.")) as server:
            async with open_engine(home, work) as scene:
                await travel(scene, server)
                closed_to_others(home)
            async with open_engine(home, work) as scene:
                await scene.engine.back_up()
                closed_to_others(home)

    run_bounded(test())


def closed_to_others(home: Path) -> None:
    open_to = [
        f"{path.name} {path.stat().st_mode:o}" for path in [home, *home.rglob("*")] if path.lstat().st_mode & 0o077
    ]
    assert open_to == []


def test_s3_a_key_echoed_in_an_error_is_stored_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key is neither in the error message nor in any file."""
    monkeypatch.setenv("BOX_KEY", KEY)

    async def test() -> None:
        refusal = failure("401 No", {"error": {"message": f"Incorrect API key provided: {KEY}"}})
        async with scripted_server(LIST, refusal) as server, open_engine(tmp_path) as scene:
            scene.engine.settings.change(providers=(Provider(name="box", url=server.url, api_key_env="BOX_KEY"),))
            session = await scene.engine.start("Go.", scene.folder, RunStarted("box/m", 9, mode="auto"))
            await scene.engine.wait_idle(session)
            assert scene.status(session) == "failed" and KEY in server.requests[-1].headers["authorization"]
            assert KEY not in str(await scene.events(session))
        nowhere(tmp_path)

    run_bounded(test())
