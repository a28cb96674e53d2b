"""What an agent of others leaves in our journal is a session like any other: calls that overlap, forks, copies."""

from pathlib import Path

import pytest

from core.domain.consent import ConsentAsked
from core.domain.events import CallStarted, Replied, RequestSent, RunEnded, ToolReturned
from core.domain.messages import Message
from tests.core.engine.scenes import Scene, bounded, crash, opened
from tests.core.engine.test_guests import of, started, visited
from tests.core.engine.test_replay import play


async def told(scene: Scene, session: str) -> list[Message]:
    """What a model would be sent of it."""
    return (await scene.services.runs.talk(session)).messages


def in_order(messages: list[Message]) -> bool:
    """Each call has its one result, right behind what asked for it."""
    asked = [call.id for message in messages for call in message.calls]
    behind = [
        messages[place + 1].call_id for place, message in enumerate(messages) if message.calls and not message.calls[1:]
    ]
    return asked == behind == [message.call_id for message in messages if message.role == "tool"]


def test_calls_that_overlap_have_each_their_result(tmp_path: Path) -> None:
    async def test() -> None:
        async with visited(tmp_path) as scene:
            session = await started(scene, "both turned")
            await scene.engine.wait(session)
            messages = await told(scene, session)
            assert in_order(messages), messages
            results = [message.text.head for message in messages if message.role == "tool"]
            assert results == ["found by t6", "found by t7"]
            assert scene.status(session) == "done" and scene.bugs == []

    bounded(test())


def test_after_a_crash_every_open_call_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (memory := tmp_path / "memory").mkdir()
    monkeypatch.setenv("ACP_MEMORY", str(memory))

    async def test() -> None:
        async with visited(tmp_path) as scene:
            session = await started(scene, "both ask")
            asked = (await scene.until(ConsentAsked)).event
            assert isinstance(asked, ConsentAsked)
            await crash(scene)
            async with opened(tmp_path) as again:
                await again.engine.choose(asked.request.id, "no")
                assert list(await again.engine.doubted(session)) == ["r1c1", "r2c1"]
                await again.engine.resume(session, "skip")
                await again.engine.wait(session)
                events = await again.events(session)
                begun = {event.call_id for event in events if isinstance(event, CallStarted)}
                ended = [event.call_id for event in events if isinstance(event, ToolReturned)]
                assert begun <= set(ended) and len(ended) == len(set(ended)) == 3
                assert in_order(await told(again, session))
                assert events[-1] == RunEnded("completed")
                open_rows = [step.kind for step in again.engine.steps(again.engine.session(session)) if not step.ended]
                assert open_rows == []

    bounded(test())


def test_a_person_sees_it_think_between_its_calls(tmp_path: Path) -> None:
    async def test() -> None:
        async with visited(tmp_path) as scene:
            session = await started(scene, "edit")
            asked = (await scene.until(ConsentAsked)).event
            assert isinstance(asked, ConsentAsked)
            await scene.engine.choose(asked.request.id, "yes")
            await scene.engine.wait(session)
            events = await scene.events(session)
            sent, replied = of(events, RequestSent), of(events, Replied)
            assert len(sent) > 1 and [one.role for one in sent[1:] if isinstance(one, RequestSent)] == ["agent"] * (
                len(sent) - 1
            )
            rows = [step for step in scene.engine.steps(scene.engine.session(session)) if step.kind == "thinking"]
            assert len(rows) == len(sent) <= len(replied) and {row.status for row in rows} == {"done"}

    bounded(test())


def test_a_fork_goes_on_with_another_model_and_a_replay_plays_it(tmp_path: Path) -> None:
    async def test() -> None:
        async with visited(tmp_path) as scene:
            session = await started(scene, "both turned files", "accept")
            await scene.engine.wait(session)
            fork = await scene.engine.history.fork(session)
            assert in_order(await told(scene, fork))
            heard, done = await play(tmp_path, session)
            assert [entry.event for entry in heard] == await scene.events(session)
            assert done.differing == [] and not done.made

    bounded(test())


@pytest.mark.parametrize("form", ["md", "html", "json", "atif", "otlp", "perfetto"])
def test_an_export_holds_what_it_did(tmp_path: Path, form: str) -> None:
    async def test() -> None:
        async with visited(tmp_path) as scene:
            session = await started(scene, "both turned")
            await scene.engine.wait(session)
            await scene.engine.desk.export(session, form, tmp_path / "out")

    bounded(test())
    said = (tmp_path / "out").read_text("utf-8")
    assert "Call t6" in said and "Call t7" in said
    assert form == "perfetto" or all(words in said for words in ("found by t6", "found by t7", "You said: both turned"))
