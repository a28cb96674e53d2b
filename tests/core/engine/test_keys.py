"""A key of ours stays out of everything a run leaves behind; one that lies in a file is not sent to a model."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from app.crash import Crash, CrashDoor
from core.domain.events import Replied, RunStarted, ToolReturned
from core.settings.schema import Provider
from tests.core.engine.scenes import Scene, bounded, opened
from tests.servers.scripted import Act, Scripted, answer, chunk, failure, scripted, stream

KEY = "sk-canary-0123456789abcdef0123456789"
THEIRS = "sk-ant-api03-" + "aB3_" * 10
LIST = answer(b'{"data": [{"id": "m", "context_length": 64000}]}', "application/json")
SEES = "env; cat /proc/*/environ | tr '\\0' '\\n'; cat /proc/*/cmdline | tr '\\0' ' '; true"


def calling(tool: str, **arguments: Any) -> list[Act]:
    call = {"index": 0, "id": "c1", "function": {"name": tool, "arguments": json.dumps(arguments)}}
    return answer(stream(chunk(tool_calls=[call]), chunk("tool_calls")))


def saying(*pieces: str) -> list[Act]:
    return answer(stream(*(chunk(content=piece) for piece in pieces), chunk("stop")))


async def travel(scene: Scene, server: Scripted) -> str:
    box = Provider(name="box", url=server.url, variable="BOX_KEY")
    scene.engine.settings.change(providers=(box,))
    session = await scene.engine.start("Go.", scene.folder, RunStarted("box/m", 9, mode="trust"))
    await scene.engine.wait(session)
    assert scene.status(session) == "done" and scene.bugs == []
    return session


def nowhere(home: Path, key: str = KEY) -> None:
    """In no file of the data folder, the log of the database among them, and in no text that it holds."""
    files = [path for path in home.rglob("*") if path.is_file()]
    assert any(path.name == "journeyman.db" for path in files)
    assert [path.name for path in files if key.encode() in path.read_bytes()] == []
    with sqlite3.connect(home / "journeyman.db") as db:
        assert not any(key in line for line in db.iterdump())
    db.close()


def test_s1_the_key_is_sent_to_its_server_and_shows_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands see it neither in their surroundings nor in those of other processes, nor among their words."""
    monkeypatch.setenv("BOX_KEY", KEY)

    async def test() -> None:
        async with (
            scripted(LIST, calling("run", command="sh see.sh"), saying("Seen.")) as server,
            opened(tmp_path) as scene,
        ):
            (scene.folder / "see.sh").write_text(SEES)
            session = await travel(scene, server)
            assert all(KEY in request.headers["authorization"] for request in server.requests)
            assert all(KEY.encode() not in request.body for request in server.requests)
            (seen,) = [event for event in await scene.events(session) if isinstance(event, ToolReturned)]
            assert "PATH=" in scene.engine.whole(seen.output) and KEY not in scene.engine.whole(seen.output)
            nowhere(tmp_path)
        nowhere(tmp_path)

    bounded(test())


def test_s1_the_crash_log_has_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor what is told of the crash."""
    monkeypatch.setenv("BOX_KEY", KEY)
    told: list[Crash] = []
    door = CrashDoor(tmp_path, told.append)
    door.open()
    try:
        door.report(ValueError(f"a header could not be read: Bearer {KEY}"))
    finally:
        door.close()
    log = (tmp_path / "crash.log").read_text()
    assert "ValueError" in log and KEY not in log + str(told)


@pytest.mark.parametrize("cut", [1, 9, len(KEY) - 1])
def test_s4_a_key_that_comes_back_in_two_pieces_is_in_no_draft_and_no_fact(
    cut: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOX_KEY", KEY)

    async def test() -> None:
        parts = saying(f"It is {KEY[:cut]}", f"{KEY[cut:]}, you know.")
        async with scripted(LIST, parts) as server, opened(tmp_path) as scene:
            drafts: list[str] = []
            scene.engine.listen_drafts(lambda draft: drafts.append(draft.text))
            session = await travel(scene, server)
            (reply,) = [event for event in await scene.events(session) if isinstance(event, Replied)]
            assert reply.text.head == "It is [key], you know." == "".join(drafts)
        nowhere(tmp_path)

    bounded(test())


def test_s5_a_key_in_a_file_that_is_read_is_not_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model is told that something was left out, and reads everything around it."""
    monkeypatch.setenv("BOX_KEY", KEY)

    async def test() -> None:
        async with scripted(LIST, calling("read", path="a.md"), saying("Read.")) as server, opened(tmp_path) as scene:
            (scene.folder / "a.md").write_text(f"Before.\nour key {THEIRS} and\nafter.\n")
            await travel(scene, server)
            last = server.requests[-1].body.decode()
            assert THEIRS not in last and "[API key removed]" in last and "Before." in last and "after." in last

    bounded(test())


def test_s9_only_the_owner_may_read_what_a_run_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it is open, with the log of the database beside it, and when it was closed; so are backups."""
    monkeypatch.setenv("BOX_KEY", KEY)
    home, work = tmp_path / "home", tmp_path / "work"

    async def test() -> None:
        async with scripted(LIST, saying("Done.")) as server:
            async with opened(home, work) as scene:
                await travel(scene, server)
                closed_to_others(home)
            async with opened(home, work) as scene:
                await scene.engine.back_up()
                closed_to_others(home)

    bounded(test())


def closed_to_others(home: Path) -> None:
    open_to = [
        f"{path.name} {path.stat().st_mode:o}" for path in [home, *home.rglob("*")] if path.lstat().st_mode & 0o077
    ]
    assert open_to == []


def test_s3_a_key_that_a_server_repeats_in_its_error_is_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither in what is told nor in any file."""
    monkeypatch.setenv("BOX_KEY", KEY)

    async def test() -> None:
        refusal = failure("401 No", {"error": {"message": f"Incorrect API key provided: {KEY}"}})
        async with scripted(LIST, refusal) as server, opened(tmp_path) as scene:
            scene.engine.settings.change(providers=(Provider(name="box", url=server.url, variable="BOX_KEY"),))
            session = await scene.engine.start("Go.", scene.folder, RunStarted("box/m", 9, mode="trust"))
            await scene.engine.wait(session)
            assert scene.status(session) == "failed" and KEY in server.requests[-1].headers["authorization"]
            assert KEY not in str(await scene.events(session))
        nowhere(tmp_path)

    bounded(test())
