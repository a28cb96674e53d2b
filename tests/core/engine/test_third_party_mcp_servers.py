"""Three third-party MCP servers in a run: calls, progress, images, forms, pages, and one that is killed."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from core.domain.events import ToolReturned
from core.domain.question import Answer, SubAnswer
from core.settings.schema import McpServerSettings, McpVariable
from tests.core.engine.harness import EngineHarness, call_reply, open_engine, run_bounded
from tests.core.engine.test_mcp_questions import outputs_of, run_calls, start_calls, wait_for_question
from tests.servers.process import serving
from tests.servers.real import ENABLED, REASON
from tests.servers.real_tools import program

pytestmark = pytest.mark.skipif(not ENABLED, reason=REASON)
FILLED = {"name": SubAnswer("", text="Quinn"), "check": SubAnswer("", ("Yes",))}


async def added(scene: EngineHarness, name: str, *words: str, **more: Any) -> None:
    node, script = program(name)
    look = await scene.engine.mcp_servers.add(McpServerSettings(name=name, command=node, args=(script, *words), **more))
    assert look.error is None, look.error
    assert look.protocol_version == "2025-11-25" and look.rejected == ()


def test_files_are_written_and_read_by_the_filesystem_server(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_engine(tmp_path) as scene:
            await added(scene, "filesystem", str(scene.folder))
            file = scene.folder / "a.txt"
            path = str(file)
            calls = (
                call_reply("filesystem__write_file", path=path, content="moss"),
                call_reply("filesystem__read_text_file", path=path),
                call_reply("filesystem__read_text_file", path="/etc/hostname"),
            )
            events = await run_calls(scene, *calls)
            _, read, outside = [event for event in events if isinstance(event, ToolReturned)]
            assert read.output.head == "moss" and file.read_text("utf-8") == "moss"
            assert outside.failed and "Access denied" in outside.output.head

    run_bounded(test())


def test_entries_of_the_memory_server_are_there_in_the_next_run(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_engine(tmp_path) as scene:
            kept = McpVariable(name="MEMORY_FILE_PATH")
            node, script = program("memory")
            server = McpServerSettings(name="memory", command=node, args=(script,), variables=(kept,))
            look = await scene.engine.mcp_servers.add(server, {"MEMORY_FILE_PATH": str(tmp_path / "kept.jsonl")})
            assert look.error is None
            fern = [{"name": "fern", "entityType": "plant", "observations": ["likes shade"]}]
            await run_calls(scene, call_reply("memory__create_entities", entities=fern))
            events = await run_calls(scene, call_reply("memory__read_graph"))
            assert "likes shade" in outputs_of(events)[0] and "fern" in (tmp_path / "kept.jsonl").read_text("utf-8")

    run_bounded(test())


def test_every_tool_of_everything_is_called_shown_and_reported(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_engine(tmp_path) as scene:
            await added(scene, "everything")
            heard: list[bytes] = []
            scene.engine.subscribe_live_updates(lambda draft: heard.append(draft.output) if draft.output else None)
            calls = (
                call_reply("everything__get-sum", a=2, b=3),
                call_reply("everything__trigger-long-running-operation", duration=0.2, steps=2),
                call_reply("everything__get-tiny-image"),
                call_reply("everything__trigger-elicitation-request"),
                call_reply("everything__trigger-url-elicitation", url="https://a.example/x", errorPath=True),
            )
            session = await start_calls(scene, *calls)
            question = await wait_for_question(scene)
            assert question.mcp_server == "everything" and len(question.sub_questions) > 10
            names = [name for name, part in zip(FILLED, question.sub_questions, strict=False) if not part.optional]
            parts = tuple(FILLED[name] for name in names)
            await scene.engine.answer(question.id, Answer(sub_answers=parts))
            for reply in ("Open the page", "Done, call again", "Open the page"):
                page = await wait_for_question(scene)
                assert page.mcp_server == "everything"
                await scene.engine.answer(page.id, Answer(option=reply))
            await scene.engine.wait_idle(session)
            events = await scene.events(session)
            total, _, image, form, _ = [event for event in events if isinstance(event, ToolReturned)]
            assert "5" in total.output.head and len(heard) == 2 and heard[-1].startswith(b"2/2")
            assert [one.media_type for one in image.attachments] == ["image/png"]
            assert "Quinn" in form.output.head and not form.failed and scene.bugs == []

    run_bounded(test())


def test_a_server_killed_during_a_call_fails_it_and_is_restarted_by_the_next_call(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_engine(tmp_path) as scene:
            await added(scene, "everything")
            long = call_reply("everything__trigger-long-running-operation", duration=2_000, steps=10_000)
            session = await start_calls(scene, long, call_reply("everything__echo", message="moss"))
            running = asyncio.Event()
            scene.engine.subscribe_live_updates(lambda draft: running.set() if draft.output else None)
            await running.wait()  # It has reported its first step, so the call is in progress.
            os.kill(child("everything"), signal.SIGKILL)
            await scene.engine.wait_idle(session)
            killed, after = outputs_of(await scene.events(session))
            assert "ended during the call" in killed and "moss" in after

    run_bounded(test())


def test_everything_works_over_http(tmp_path: Path) -> None:
    async def test() -> None:
        node, script = program("everything")
        command = [node, script, "streamableHttp"]
        port = str(20_000 + os.getpid() % 20_000)
        with serving(command, r"listening on port (\d+)", tmp_path / "log", {"PORT": port}) as at:
            async with open_engine(tmp_path) as scene:
                url = f"http://127.0.0.1:{at}/mcp"
                look = await scene.engine.mcp_servers.add(McpServerSettings(name="far", url=url))
                assert look.error is None, look.error
                events = await run_calls(scene, call_reply("far__get-sum", a=2, b=3))
                assert "5" in outputs_of(events)[0]

    run_bounded(test())


def child(name: str) -> int:
    """Return the process ID of this server among our child processes."""
    script = program(name)[1]
    children = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    pids = [int(pid) for listed in children for pid in listed.read_text("ascii").split()]
    return next(pid for pid in pids if script in Path(f"/proc/{pid}/cmdline").read_text("utf-8"))
