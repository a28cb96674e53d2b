"""Several at once (K3–K11): readers beside a writer, stops at any moment, two runs in one folder, a hundred calls."""

import asyncio
import random
from pathlib import Path

import pytest

from core.domain.events import CallRefused, CallStarted, FileChanged, Nudged, Retried, RunStarted, ToolReturned
from core.domain.problems import Problem
from core.domain.text import Text
from core.models import retry
from core.settings.schema import Provider
from core.store.reader import Reader
from tests.core.engine.scenes import bounded, calling, opened, played
from tests.servers.scripted import Act, answer, chunk, scripted, stream


def test_k3_a_reader_beside_a_thousand_commits_meets_no_lock(tmp_path: Path) -> None:
    async def test() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.run(played({"text": "a"}))
            reader, over = Reader(scene.services.opened.path), False

            def look() -> int:
                """Another connection in another thread, as the window has one."""
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
                await scene.engine._journal.append(session, Nudged(Text(f"{number}"), "counting"))
            over = True
            assert await looking > 0
            reader.close()
            assert sum(kind == "Nudged" for kind in await scene.kinds(session)) == 1_000

    bounded(test())


def test_k4_nothing_happens_after_a_stop_at_any_of_fifty_moments(tmp_path: Path) -> None:
    """Neither a file nor a fact, and no process is left."""

    async def test() -> None:
        chance = random.Random(4)
        async with opened(tmp_path / "home", tmp_path / "work") as scene:
            script = played(
                *[calling("run", command="echo x >> effect; sleep 0.05; echo y >> effect")] * 4, {"text": "x"}
            )
            effect = scene.folder / "effect"
            for turn in range(50):
                session = await scene.start(script)
                await asyncio.sleep(chance.random() * 0.25)
                try:
                    await scene.engine.stop(session)
                except Problem:  # it was over already
                    continue
                size = effect.stat().st_size if effect.exists() else 0
                facts = len(await scene.events(session))
                await asyncio.sleep(0.06 if turn % 5 == 0 else 0)
                assert (effect.stat().st_size if effect.exists() else 0) == size
                assert len(await scene.events(session)) == facts and scene.status(session) == "stopped"
                started = [e.call_id for e in await scene.events(session) if isinstance(e, CallStarted)]
                assert started == [e.call_id for e in await scene.events(session) if isinstance(e, ToolReturned)]

    bounded(test())


def test_k7_what_one_run_changed_the_other_does_not_write_over(tmp_path: Path) -> None:
    async def test() -> None:
        async with opened(tmp_path / "home", tmp_path / "work") as scene:
            note = scene.folder / "a.txt"
            note.write_text("one")
            late = {**calling("edit", path="a.txt", old="one", new="late"), "delay_s": 0.6}
            slow = await scene.start(played(calling("read", path="a.txt"), late, {"text": "x"}))
            await scene.until(ToolReturned)
            quick = await scene.run(
                played(
                    calling("read", path="a.txt"),
                    calling("edit", path="a.txt", old="one", new="one, quick"),
                    {"text": "x"},
                )
            )
            await scene.engine.wait(slow)
            refused = [e for e in await scene.events(slow) if isinstance(e, ToolReturned)][1]
            assert refused.failed and "changed" in refused.output.head and note.read_text() == "one, quick"
            assert [e.path for e in await scene.events(quick) if isinstance(e, FileChanged)] == ["a.txt"]

    bounded(test())


def test_k9_a_session_that_goes_is_stopped_before_it_is_thrown_away(tmp_path: Path) -> None:
    """And one that is not in the trash cannot be forgotten."""

    async def test() -> None:
        async with opened(tmp_path / "home", tmp_path / "work") as scene:
            session = await scene.start(played(calling("run", command="sleep 600; touch late"), {"text": "x"}))
            await scene.until(CallStarted)
            assert await scene.engine.shelf.empty([session]) == () and scene.engine.going(session)
            await scene.engine.shelf.trash([session])
            assert not scene.engine.going(session) and scene.status(session) == "stopped"
            assert await scene.engine.shelf.empty([session]) == (session,) and not scene.engine.sessions()
            assert not (scene.folder / "late").exists()

    bounded(test())


def test_k10_a_hundred_calls_of_one_reply_get_a_result_each(tmp_path: Path) -> None:
    async def test() -> None:
        async with opened(tmp_path / "home", tmp_path / "work") as scene:
            calls = [
                {"name": "write", "arguments": {"path": "n.txt", "content": f"{number}"}}
                if number % 2 else {"name": "read", "arguments": {"path": "n.txt"}}
                for number in range(100)
            ]  # fmt: skip
            session = await scene.run(played({"calls": calls}, {"text": "x"}))
            events = await scene.events(session)
            results = [e.call_id for e in events if isinstance(e, ToolReturned | CallRefused)]
            assert len(results) == len(set(results)) == 100 and scene.status(session) == "done"
            assert (scene.folder / "n.txt").read_text() == "99" and len(list(scene.folder.iterdir())) == 1

    bounded(test())


def test_k11_a_server_that_slept_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after the computer was asleep: the stream is silent, and the next attempt is whole."""
    monkeypatch.setattr(retry, "FIRST_S", 0.01)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    models = answer(b'{"data": [{"id": "m"}]}', "application/json")

    async def test() -> None:
        whole = answer(stream(chunk(content="Awake."), chunk("stop")))
        half: list[Act] = [head + stream(chunk(content="Hal"), end=""), "hang"]
        async with scripted(models, half, whole) as server, opened(tmp_path) as scene:
            scene.engine.settings.change(providers=(Provider(name="box", url=server.url),), first_s=1.0, silence_s=1.0)
            session = await scene.engine.start("Go.", scene.folder, RunStarted("box/m", 9, mode="trust"))
            await scene.engine.wait(session)
            kinds = await scene.kinds(session)
            assert scene.status(session) == "done" and kinds.count("ReplyCut") == 1 and kinds.count("Replied") == 1
            assert len([e for e in await scene.events(session) if isinstance(e, Retried)]) == 1

    bounded(test())
