"""Three tool servers that others wrote, in a run: calls, progress, pictures, forms, pages, and one that is killed."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from core.domain.events import ToolReturned
from core.domain.question import Answer, Said
from core.settings.schema import Given, ToolServer
from tests.core.engine.scenes import Scene, bounded, calling, opened
from tests.core.engine.test_asking_servers import asked, begun, ran, said
from tests.servers.process import serving
from tests.servers.real import ASKED_FOR, REASON
from tests.servers.real_tools import program

pytestmark = pytest.mark.skipif(not ASKED_FOR, reason=REASON)
FILLED = {"name": Said("", text="Quinn"), "check": Said("", ("Yes",))}


async def added(scene: Scene, name: str, *words: str, **more: Any) -> None:
    node, script = program(name)
    look = await scene.engine.servers.add(ToolServer(name=name, command=node, args=(script, *words), **more))
    assert look.trouble is None, look.trouble
    assert look.version == "2025-11-25" and look.unfit == ()


def test_files_are_written_and_read_by_the_server_of_files(tmp_path: Path) -> None:
    async def test() -> None:
        async with opened(tmp_path) as scene:
            await added(scene, "filesystem", str(scene.folder))
            file = scene.folder / "a.txt"
            path = str(file)
            calls = (
                calling("filesystem__write_file", path=path, content="moss"),
                calling("filesystem__read_text_file", path=path),
                calling("filesystem__read_text_file", path="/etc/hostname"),
            )
            events = await ran(scene, *calls)
            _, read, outside = [event for event in events if isinstance(event, ToolReturned)]
            assert read.output.head == "moss" and file.read_text("utf-8") == "moss"
            assert outside.failed and "Access denied" in outside.output.head

    bounded(test())


def test_what_the_server_of_memory_was_told_is_there_in_the_next_run(tmp_path: Path) -> None:
    async def test() -> None:
        async with opened(tmp_path) as scene:
            kept = Given(name="MEMORY_FILE_PATH")
            node, script = program("memory")
            server = ToolServer(name="memory", command=node, args=(script,), given=(kept,))
            look = await scene.engine.servers.add(server, {"MEMORY_FILE_PATH": str(tmp_path / "kept.jsonl")})
            assert look.trouble is None
            fern = [{"name": "fern", "entityType": "plant", "observations": ["likes shade"]}]
            await ran(scene, calling("memory__create_entities", entities=fern))
            events = await ran(scene, calling("memory__read_graph"))
            assert "likes shade" in said(events)[0] and "fern" in (tmp_path / "kept.jsonl").read_text("utf-8")

    bounded(test())


def test_everything_is_called_answered_shown_and_told_of(tmp_path: Path) -> None:
    async def test() -> None:
        async with opened(tmp_path) as scene:
            await added(scene, "everything")
            heard: list[bytes] = []
            scene.engine.listen_drafts(lambda draft: heard.append(draft.output) if draft.output else None)
            calls = (
                calling("everything__get-sum", a=2, b=3),
                calling("everything__trigger-long-running-operation", duration=0.2, steps=2),
                calling("everything__get-tiny-image"),
                calling("everything__trigger-elicitation-request"),
                calling("everything__trigger-url-elicitation", url="https://a.example/x", errorPath=True),
            )
            session = await begun(scene, *calls)
            question = await asked(scene)
            assert question.server == "everything" and len(question.parts) > 10
            names = [name for name, part in zip(FILLED, question.parts, strict=False) if not part.optional]
            parts = tuple(FILLED[name] for name in names)
            await scene.engine.answer(question.id, Answer(parts=parts))
            for reply in ("Open the page", "It is done: call again", "Open the page"):
                page = await asked(scene)
                assert page.server == "everything"
                await scene.engine.answer(page.id, Answer(option=reply))
            await scene.engine.wait(session)
            events = await scene.events(session)
            total, _, image, form, _ = [event for event in events if isinstance(event, ToolReturned)]
            assert "5" in total.output.head and len(heard) == 2 and heard[-1].startswith(b"2/2")
            assert [one.media_type for one in image.attachments] == ["image/png"]
            assert "Quinn" in form.output.head and not form.failed and scene.bugs == []

    bounded(test())


def test_a_server_that_is_killed_in_mid_call_fails_it_and_the_next_call_starts_it_again(tmp_path: Path) -> None:
    async def test() -> None:
        async with opened(tmp_path) as scene:
            await added(scene, "everything")
            long = calling("everything__trigger-long-running-operation", duration=2_000, steps=10_000)
            session = await begun(scene, long, calling("everything__echo", message="moss"))
            running = asyncio.Event()
            scene.engine.listen_drafts(lambda draft: running.set() if draft.output else None)
            await running.wait()  # it told of its first step, so it is in the middle of the call
            os.kill(child("everything"), signal.SIGKILL)
            await scene.engine.wait(session)
            killed, after = said(await scene.events(session))
            assert "ended in the middle of the call" in killed and "moss" in after

    bounded(test())


def test_everything_is_reached_over_http(tmp_path: Path) -> None:
    async def test() -> None:
        node, script = program("everything")
        command = [node, script, "streamableHttp"]
        port = str(20_000 + os.getpid() % 20_000)
        with serving(command, r"listening on port (\d+)", tmp_path / "log", {"PORT": port}) as at:
            async with opened(tmp_path) as scene:
                url = f"http://127.0.0.1:{at}/mcp"
                look = await scene.engine.servers.add(ToolServer(name="far", url=url))
                assert look.trouble is None, look.trouble
                events = await ran(scene, calling("far__get-sum", a=2, b=3))
                assert "5" in said(events)[0]

    bounded(test())


def child(name: str) -> int:
    """The process of this server, one of ours."""
    script = program(name)[1]
    children = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    pids = [int(pid) for listed in children for pid in listed.read_text("ascii").split()]
    return next(pid for pid in pids if script in Path(f"/proc/{pid}/cmdline").read_text("utf-8"))
