"""Concurrency (K3–K11): readers and a writer, stops at any moment, two runs in one folder, a hundred calls."""

import asyncio
import random
from pathlib import Path

import pytest

from core.domain.events import (
    CallRefused,
    CallStarted,
    FileChanged,
    HarnessMessage,
    RequestRetried,
    RunStarted,
    ToolReturned,
)
from core.domain.problems import Problem
from core.domain.text import Text
from core.models import retry
from core.settings.schema import Provider
from core.store.reader import Reader
from tests.core.engine.harness import call_reply, open_engine, run_bounded, scripted_replies
from tests.servers.scripted_server import ServerAction, answer, chunk, scripted_server, stream


def test_k3_nothing_happens_after_a_stop_at_any_of_fifty_moments(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(scripted_replies({"text": "a"}))
            reader, over = Reader(scene.services.opened.path), False

            def look() -> int:
                """Read through another connection in another thread, as the window does."""
                own, looks = Reader(scene.services.opened.path), 0
                try:
                    while not over:
                        assert own.session(session) and own.steps(session, 0, 50) is not None
                        looks += 1
                finally:
                    own.close()
                return looks

            looking = asyncio.create_task(asyncio.to_thread(look))
            for number in range(1_000):
                await scene.engine._journal.append(session, HarnessMessage(Text(f"{number}"), "counting"))
            over = True
            assert await looking > 0
            reader.close()
            assert sum(kind == "HarnessMessage" for kind in await scene.kinds(session)) == 1_000

    run_bounded(test())


def test_k4_nothing_happens_after_a_stop_at_any_of_fifty_moments(tmp_path: Path) -> None:
    """After a stop no file is written, no event is recorded, and no process is left."""

    async def test() -> None:
        chance = random.Random(4)
        async with open_engine(tmp_path / "home", tmp_path / "work") as scene:
            script = scripted_replies(
                *[call_reply("run", command="echo x >> effect; sleep 0.05; echo y >> effect")] * 4, {"text": "x"}
            )
            effect = scene.folder / "effect"
            for turn in range(50):
                session = await scene.start(script)
                await asyncio.sleep(chance.random() * 0.25)
                try:
                    await scene.engine.stop(session)
                except Problem:  # the run had ended already
                    continue
                size = effect.stat().st_size if effect.exists() else 0
                facts = len(await scene.events(session))
                await asyncio.sleep(0.06 if turn % 5 == 0 else 0)
                assert (effect.stat().st_size if effect.exists() else 0) == size
                assert len(await scene.events(session)) == facts and scene.status(session) == "stopped"
                started = [e.call_id for e in await scene.events(session) if isinstance(e, CallStarted)]
                assert started == [e.call_id for e in await scene.events(session) if isinstance(e, ToolReturned)]

    run_bounded(test())


def test_k7_a_run_does_not_overwrite_changes_of_another_run(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_engine(tmp_path / "home", tmp_path / "work") as scene:
            note = scene.folder / "a.txt"
            note.write_text("one")
            late = {**call_reply("edit", path="a.txt", old_string="one", new_string="late"), "delay_s": 0.6}
            slow = await scene.start(scripted_replies(call_reply("read", path="a.txt"), late, {"text": "x"}))
            await scene.until(ToolReturned)
            quick = await scene.run(
                scripted_replies(
                    call_reply("read", path="a.txt"),
                    call_reply("edit", path="a.txt", old_string="one", new_string="one, quick"),
                    {"text": "x"},
                )
            )
            await scene.engine.wait_idle(slow)
            refused = [e for e in await scene.events(slow) if isinstance(e, ToolReturned)][1]
            assert refused.failed and "changed" in refused.output.head and note.read_text() == "one, quick"
            assert [e.path for e in await scene.events(quick) if isinstance(e, FileChanged)] == ["a.txt"]

    run_bounded(test())


def test_k9_a_running_session_is_stopped_before_it_is_deleted(tmp_path: Path) -> None:
    """A session that is not in the trash cannot be purged."""

    async def test() -> None:
        async with open_engine(tmp_path / "home", tmp_path / "work") as scene:
            session = await scene.start(
                scripted_replies(call_reply("run", command="sleep 600; touch late"), {"text": "x"})
            )
            await scene.until(CallStarted)
            assert await scene.engine.archive.empty_trash([session]) == () and scene.engine.is_active(session)
            await scene.engine.archive.trash([session])
            assert not scene.engine.is_active(session) and scene.status(session) == "stopped"
            assert await scene.engine.archive.empty_trash([session]) == (session,) and not scene.engine.sessions()
            assert not (scene.folder / "late").exists()

    run_bounded(test())


def test_k10_each_of_a_hundred_calls_of_a_reply_gets_a_result(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_engine(tmp_path / "home", tmp_path / "work") as scene:
            calls = [
                {"name": "write", "arguments": {"path": "n.txt", "content": f"{number}"}}
                if number % 2 else {"name": "read", "arguments": {"path": "n.txt"}}
                for number in range(100)
            ]  # fmt: skip
            session = await scene.run(scripted_replies({"calls": calls}, {"text": "x"}))
            events = await scene.events(session)
            results = [e.call_id for e in events if isinstance(e, ToolReturned | CallRefused)]
            assert len(results) == len(set(results)) == 100 and scene.status(session) == "done"
            assert (scene.folder / "n.txt").read_text() == "99" and len(list(scene.folder.iterdir())) == 1

    run_bounded(test())


def test_k11_a_silent_provider_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after the computer was asleep: the stream is silent, and the next attempt succeeds."""
    monkeypatch.setattr(retry, "INITIAL_DELAY_S", 0.01)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    models = answer(b'{"data": [{"id": "m"}]}', "application/json")

    async def test() -> None:
        whole = answer(stream(chunk(content="Awake."), chunk("stop")))
        half: list[ServerAction] = [head + stream(chunk(content="Hal"), end=""), "hang"]
        async with scripted_server(models, half, whole) as server, open_engine(tmp_path) as scene:
            scene.engine.settings.change(
                providers=(Provider(name="box", url=server.url),), first_token_timeout_s=1.0, idle_timeout_s=1.0
            )
            session = await scene.engine.start("Go.", scene.folder, RunStarted("box/m", 9, mode="auto"))
            await scene.engine.wait_idle(session)
            kinds = await scene.kinds(session)
            assert (
                scene.status(session) == "done" and kinds.count("ReplyInterrupted") == 1 and kinds.count("Replied") == 1
            )
            assert len([e for e in await scene.events(session) if isinstance(e, RequestRetried)]) == 1

    run_bounded(test())
