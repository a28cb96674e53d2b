"""A model without tool calls writes them, by itself, and in the next run from the start; a summary costs too."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from core.domain.events import CallsWritten, ContextCompacted, Replied, RequestSent, Retried, RunStarted, ToolReturned
from core.domain.problems import Problem
from core.engine.replay import replay
from core.settings.schema import Price, Provider
from core.store.reader import Reader
from tests.core.engine.scenes import Scene, bounded, opened
from tests.core.models.test_spoken import wrote
from tests.servers.scripted import Act, Scripted, answer, chunk, failure, scripted, stream

MARK = "00112233445566aa"
REFUSED = failure("400 Bad Request", {"error": {"message": "registry.ollama.ai/library/m does not support tools"}})
READ = wrote('{"tool": "read", "arguments": {"path": "a.md"}}').replace("abc", MARK)
END = wrote('{"tool": "final", "arguments": {"text": "It says hello."}}').replace("abc", MARK)
USAGE = {"prompt_tokens": 1000, "completion_tokens": 100}


def listing(**more: Any) -> list[Act]:
    return answer(json.dumps({"data": [{"id": "m", **more}]}).encode(), "application/json")


def saying(words: str) -> list[Act]:
    return answer(stream(chunk(content=words), {**chunk("stop"), "usage": USAGE}))


async def begin(scene: Scene, server: Scripted, task: str = "Go.") -> str:
    """A run of the model of this server, to its end."""
    (scene.folder / "a.md").write_text("hello\n")
    box = Provider(name="box", url=server.url)
    price = Price(model="box/m", input=1.0, output=10.0)
    scene.engine.settings.change(providers=(box,), prices=(price,))
    session = await scene.engine.start(task, scene.folder, RunStarted("box/m", 9, boundary=MARK, mode="trust"))
    await scene.engine.wait(session)
    return session


def asked(server: Scripted) -> list[bool]:
    """Of each request for a reply, whether it offered tools."""
    return ["tools" in each.json for each in server.requests if each.method == "POST"]


async def check_run(scene: Scene, session: str) -> list[Any]:
    events = await scene.events(session)
    assert scene.status(session) == "done" and scene.bugs == []
    (returned,) = [event for event in events if isinstance(event, ToolReturned)]
    assert "hello" in returned.output.head and not returned.failed
    assert [event.text.head for event in events if isinstance(event, Replied)][-1] == "It says hello."
    return events


def test_a_model_that_refuses_tools_writes_its_calls_and_the_next_run_knows(tmp_path: Path) -> None:
    """Once found out it is kept: another program on the same data asks without tools from the first request on."""

    async def test() -> None:
        answers: Sequence[Sequence[Act]] = [listing(), REFUSED, saying(READ), saying(END)]
        async with scripted(*answers) as server, opened(tmp_path) as scene:
            session = await begin(scene, server)
            events = await check_run(scene, session)
            (written,) = [event for event in events if isinstance(event, CallsWritten)]
            assert written.model == "box/m" and written.why
            assert [event.wait_s for event in events if isinstance(event, Retried)] == [0.0]
            assert asked(server) == [True, False, False]
            assert scene.engine.settings.now.text_calls == ("box/m",)
            rows = [step.object for step in scene.engine.steps(scene.engine.session(session)) if step.kind == "notice"]
            assert any("writes them as text" in row for row in rows)
        await play_again(tmp_path, session)
        async with scripted(listing(), saying(READ), saying(END)) as server, opened(tmp_path) as scene:
            events = await check_run(scene, await begin(scene, server))
            assert asked(server) == [False, False]
            kinds = [type(event) for event in events]
            assert kinds.index(CallsWritten) < kinds.index(RequestSent) and Retried not in kinds

    bounded(test())


async def play_again(home: Path, session: str) -> None:
    """A replay of it writes the same."""
    folder, reader = home / "replay", Reader(home / "journeyman.db")
    folder.mkdir()
    try:
        done = await replay(reader, session, folder, lambda _: None, _at_once)
    finally:
        reader.close()
    assert done.differing == [] and done.made["replied"] == 2


async def _at_once(_: object) -> None:
    """No pace."""


def test_a_model_whose_server_says_that_it_has_none_is_not_asked_for_calls(tmp_path: Path) -> None:
    async def test() -> None:
        row = {"supported_parameters": ["temperature"]}
        async with scripted(listing(**row), saying(READ), saying(END)) as server, opened(tmp_path) as scene:
            await check_run(scene, await begin(scene, server))
            assert asked(server) == [False, False]

    bounded(test())


def test_a_trial_finds_out_and_a_later_one_takes_it_back(tmp_path: Path) -> None:
    called = chunk(tool_calls=[{"index": 0, "id": "c", "function": {"name": "note", "arguments": "{}"}}])

    async def test() -> None:
        answers = [saying("one, two"), REFUSED, saying("one, two"), answer(stream(called, chunk("tool_calls")))]
        async with scripted(*answers) as server, opened(tmp_path) as scene:
            price = Price(model="box/m", window=8_000)
            scene.engine.settings.change(providers=(Provider(name="box", url=server.url),), prices=(price,))
            assert (await scene.engine.test_model("box/m")).tools is False
            assert list(scene.engine.settings.now.text_calls) == ["box/m"]
            assert (await scene.engine.test_model("box/m")).tools is True
            assert list(scene.engine.settings.now.text_calls) == []

    bounded(test())


def test_a_summary_costs_like_a_reply(tmp_path: Path) -> None:
    """Its tokens and its price count into the run and the session."""
    words = "Many words that are said once more and again. " * 40

    async def test() -> None:
        async with scripted(listing(), saying(words)) as server, opened(tmp_path) as scene:
            session = await begin(scene, server)
            for number in range(6):
                await scene.engine.say(session, f"Go on, {number}. {words}")
                await scene.engine.wait(session)
            before = scene.engine.session(session)
            await scene.engine.compact_context(session)
            (done,) = [event for event in await scene.events(session) if isinstance(event, ContextCompacted)]
            assert done.model == "box/m" and done.usage.input == 1000
            assert done.cost == pytest.approx(0.002)
            after = scene.engine.session(session)
            assert after.cost - before.cost == pytest.approx(0.002) and after.tokens - before.tokens == 1100

    bounded(test())


def test_a_name_that_cannot_be_is_refused(tmp_path: Path) -> None:
    async def test() -> None:
        async with opened(tmp_path) as scene:
            with pytest.raises(Problem, match="text_calls"):
                scene.engine.settings.change(text_calls=("a model",))

    bounded(test())
