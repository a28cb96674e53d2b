"""The switch to text-based tool calls, which later runs remember; and the cost of summaries."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pytest

from core.domain.events import (
    ContextCompacted,
    HarnessMessage,
    Replied,
    RequestRetried,
    RequestSent,
    RunStarted,
    TextCallsEnabled,
    ToolReturned,
)
from core.domain.problems import Problem
from core.engine.history.replay import replay_session
from core.engine.run.completion import NO_CALL_REMINDER
from core.engine.run.nudges import NUDGE_PREFIX
from core.settings.schema import PriceOverride, Provider
from core.store.reader import Reader
from core.timeline.idle_runs import ended_idle
from tests.core.engine.harness import EngineHarness, open_engine, run_bounded
from tests.core.models.test_text_call_adapter import wrote
from tests.servers.scripted_server import ScriptedServer, ServerAction, answer, chunk, failure, scripted_server, stream

MARK = "00112233445566aa"
REFUSED = failure("400 Bad Request", {"error": {"message": "registry.ollama.ai/library/m does not support tools"}})
READ = wrote('{"tool": "read", "arguments": {"path": "a.md"}}').replace("abc", MARK)
END = wrote('{"tool": "final", "arguments": {"text": "It says hello."}}').replace("abc", MARK)
USAGE = {"prompt_tokens": 1000, "completion_tokens": 100}


def listing(**more: Any) -> list[ServerAction]:
    return answer(json.dumps({"data": [{"id": "m", **more}]}).encode(), "application/json")


def saying(words: str) -> list[ServerAction]:
    return answer(stream(chunk(content=words), {**chunk("stop"), "usage": USAGE}))


async def begin(scene: EngineHarness, server: ScriptedServer, task: str = "Go.") -> str:
    """Run a session with the provider's model to its end."""
    (scene.folder / "a.md").write_text("hello\n")
    box = Provider(name="box", url=server.url)
    price = PriceOverride(model="box/m", input=1.0, output=10.0)
    scene.engine.settings.change(providers=(box,), prices=(price,))
    session = await scene.engine.start(task, scene.folder, RunStarted("box/m", 9, boundary=MARK, mode="auto"))
    await scene.engine.wait_idle(session)
    return session


def asked(server: ScriptedServer) -> list[bool]:
    """Return whether each request for a reply offered tools."""
    return ["tools" in each.json for each in server.requests if each.method == "POST"]


async def check_run(scene: EngineHarness, session: str) -> list[Any]:
    events = await scene.events(session)
    assert scene.status(session) == "done" and scene.bugs == []
    (returned,) = [event for event in events if isinstance(event, ToolReturned)]
    assert "hello" in returned.output.head and not returned.failed
    assert [event.text.head for event in events if isinstance(event, Replied)][-1] == "It says hello."
    return events


def test_a_model_that_rejects_tools_uses_text_calls_and_the_next_run_knows(tmp_path: Path) -> None:
    """The finding is stored: another process with the same data folder sends no tools from the first request on."""

    async def test() -> None:
        answers: Sequence[Sequence[ServerAction]] = [listing(), REFUSED, saying(READ), saying(END)]
        async with scripted_server(*answers) as server, open_engine(tmp_path) as scene:
            session = await begin(scene, server)
            events = await check_run(scene, session)
            (written,) = [event for event in events if isinstance(event, TextCallsEnabled)]
            assert written.model == "box/m" and written.reason
            assert [event.wait_s for event in events if isinstance(event, RequestRetried)] == [0.0]
            assert asked(server) == [True, False, False]
            assert scene.engine.settings.current.text_call_models == ("box/m",)
            rows = [
                step.object
                for step in scene.engine.timeline_steps(scene.engine.session(session))
                if step.kind == "notice"
            ]
            assert any("writes them as text" in row for row in rows)
        await play_again(tmp_path, session)
        async with scripted_server(listing(), saying(READ), saying(END)) as server, open_engine(tmp_path) as scene:
            events = await check_run(scene, await begin(scene, server))
            assert asked(server) == [False, False]
            kinds = [type(event) for event in events]
            assert kinds.index(TextCallsEnabled) < kinds.index(RequestSent) and RequestRetried not in kinds

    run_bounded(test())


async def play_again(home: Path, session: str) -> None:
    """Check that a replay records the same events."""
    folder, reader = home / "replay", Reader(home / "journeyman.db")
    folder.mkdir()
    try:
        done = await replay_session(reader, session, folder, lambda _: None, _at_once)
    finally:
        reader.close()
    assert done.differing == [] and done.regenerated["replied"] == 2


async def _at_once(_: object) -> None:
    """Skip the recorded pauses."""


def test_a_model_listed_without_tools_gets_no_tools(tmp_path: Path) -> None:
    async def test() -> None:
        row = {"supported_parameters": ["temperature"]}
        async with scripted_server(listing(**row), saying(READ), saying(END)) as server, open_engine(tmp_path) as scene:
            await check_run(scene, await begin(scene, server))
            assert asked(server) == [False, False]

    run_bounded(test())


def test_a_model_check_detects_text_calls_and_a_later_one_reverts_it(tmp_path: Path) -> None:
    called = chunk(tool_calls=[{"index": 0, "id": "c", "function": {"name": "note", "arguments": "{}"}}])

    async def test() -> None:
        answers = [saying("one, two"), REFUSED, saying("one, two"), answer(stream(called, chunk("tool_calls")))]
        async with scripted_server(*answers) as server, open_engine(tmp_path) as scene:
            price = PriceOverride(model="box/m", context_window=8_000)
            scene.engine.settings.change(providers=(Provider(name="box", url=server.url),), prices=(price,))
            assert (await scene.engine.test_model("box/m")).calls_tools is False
            assert list(scene.engine.settings.current.text_call_models) == ["box/m"]
            assert (await scene.engine.test_model("box/m")).calls_tools is True
            assert list(scene.engine.settings.current.text_call_models) == []

    run_bounded(test())


def test_each_task_gets_its_own_reminder_and_work_that_is_left_out_is_asked_for(tmp_path: Path) -> None:
    """A model with text-based tool calls ends the second task of a session without having done anything."""
    advice = saying("You would change the first line.")
    final = wrote('{"tool": "final", "arguments": {"text": "Done."}}').replace("abc", MARK)

    async def test() -> None:
        answers = [listing(), advice, saying(END), advice, saying(final), saying(final)]
        async with scripted_server(*answers) as server, open_engine(tmp_path) as scene:
            (scene.folder / "a.md").write_text("hello\n")
            scene.engine.settings.change(providers=(Provider(name="box", url=server.url),))
            began = RunStarted("box/m", 9, boundary=MARK, mode="auto", text_calls=True)
            session = await scene.engine.start("What does the file say?", scene.folder, began)
            await scene.engine.wait_idle(session)
            await scene.engine.send_message(session, "Replace hello by goodbye in the file.")
            await scene.engine.wait_idle(session)
            notes = [event.text.head for event in await scene.events(session) if isinstance(event, HarnessMessage)]
            assert [note == NO_CALL_REMINDER for note in notes] == [True, True, False]
            assert notes[-1].startswith(NUDGE_PREFIX) and scene.bugs == []
            assert ended_idle(scene.engine.run_opening(session, 2))

    run_bounded(test())


def test_a_small_model_with_text_calls_gets_nudges_and_may_answer_without_a_call(tmp_path: Path) -> None:
    advice = saying("You would change the first line.")

    async def test() -> None:
        answers = [listing(), saying("It says hello."), advice, advice]
        async with scripted_server(*answers) as server, open_engine(tmp_path) as scene:
            scene.engine.settings.change(providers=(Provider(name="box", url=server.url),), prompt_size="compact")
            began = RunStarted("box/m", 9, boundary=MARK, mode="auto", text_calls=True)
            session = await scene.engine.start("What does it say?", scene.folder, began)
            await scene.engine.wait_idle(session)
            assert not [event for event in await scene.events(session) if isinstance(event, HarnessMessage)]
            await scene.engine.send_message(session, "Replace hello by goodbye in the file.")
            await scene.engine.wait_idle(session)
            nudges = [event for event in await scene.events(session) if isinstance(event, HarnessMessage)]
            assert nudges and all(nudge.text.head.startswith(NUDGE_PREFIX) for nudge in nudges) and scene.bugs == []
            assert ended_idle(scene.engine.run_opening(session, 2))

    run_bounded(test())


@pytest.mark.parametrize(("prompt_size", "remembered"), [("full", ("box/m",)), ("compact", ())])
def test_a_model_that_writes_its_calls_is_remembered_unless_its_prompt_is_compact(
    prompt_size: Literal["full", "compact"], remembered: tuple[str, ...], tmp_path: Path
) -> None:
    """With a compact prompt, such calls work, and a slow server would have to read the whole prompt again."""
    written = saying('```json\n{"name": "read", "arguments": {"path": "a.md"}}\n```')

    async def test() -> None:
        answers = [listing(), written, written, saying("It says hello.")]
        async with scripted_server(*answers) as server, open_engine(tmp_path) as scene:
            scene.engine.settings.change(prompt_size=prompt_size)
            await begin(scene, server, "What does the file say?")
            assert scene.engine.settings.current.text_call_models == remembered and scene.bugs == []

    run_bounded(test())


def test_a_summary_counts_like_a_reply(tmp_path: Path) -> None:
    """Its tokens and cost count toward the run and the session."""
    words = "Many words that are said once more and again. " * 40

    async def test() -> None:
        async with scripted_server(listing(), saying(words)) as server, open_engine(tmp_path) as scene:
            session = await begin(scene, server)
            for number in range(6):
                await scene.engine.send_message(session, f"Go on, {number}. {words}")
                await scene.engine.wait_idle(session)
            before = scene.engine.session(session)
            await scene.engine.compact_context(session)
            (done,) = [event for event in await scene.events(session) if isinstance(event, ContextCompacted)]
            assert done.model == "box/m" and done.usage.input == 1000
            assert done.cost == pytest.approx(0.002)
            after = scene.engine.session(session)
            assert after.cost - before.cost == pytest.approx(0.002) and after.tokens - before.tokens == 1100

    run_bounded(test())


def test_an_invalid_name_is_refused(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_engine(tmp_path) as scene:
            with pytest.raises(Problem, match="Text-based tool calls"):
                scene.engine.settings.change(text_call_models=("a model",))

    run_bounded(test())
