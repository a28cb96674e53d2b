"""The message queue: messages are edited, moved, removed, restored and sent now, but never lost or sent twice."""

import asyncio
from pathlib import Path

import pytest

from core.domain.events import CallStarted, QueueChanged, Replied, RequestSent, RunEnded, UserMessage
from core.domain.problems import Problem
from core.engine.state.compaction import USER
from core.engine.state.conversation import fold_events
from core.engine.state.unresolved_calls import UNFINISHED
from tests.core.engine.harness import EngineHarness, call_reply, open_engine, run_bounded, scripted_replies

SLOW = {"text": "one two three four", "chunks": 4, "delay_s": 600}


async def queued_texts(scene: EngineHarness, session: str) -> list[str]:
    """Return the queued texts, and check that the window, which reads the end of the event log, shows the same."""
    said = [(one.seq, one.text.head) for one in await scene.engine.queue.list(session)]
    goes_on = scene.status(session) in UNFINISHED
    assert [(one.entry, one.text) for one in scene.services.reader.queued_messages(session, goes_on)] == said
    return [text for _, text in said]


async def user_messages(scene: EngineHarness, session: str) -> list[str]:
    """Return the user messages that the model was sent."""
    talk = fold_events([entry async for entry in scene.engine.events(session)])
    return [message.text.head for message in talk.messages if message.category == USER]


async def with_three(scene: EngineHarness, *replies: object) -> tuple[str, list[int]]:
    """Start a run that is waiting for a reply, and queue three messages for it."""
    session = await scene.start(scripted_replies(SLOW, *replies or ({"text": "done"},)))  # type: ignore[arg-type]
    await scene.until(RequestSent)
    for word in ("one", "two", "three"):
        await scene.engine.send_message(session, word)
    return session, [one.seq for one in await scene.engine.queue.list(session)]


def test_queued_messages_are_edited_and_sent_in_their_new_order(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session, (one, two, three) = await with_three(scene)
            queue = scene.engine.queue
            await queue.move(session, three, 0)
            await queue.edit(session, two, "TWO")
            place = await queue.remove(session, one)
            assert await queued_texts(scene, session) == ["three", "TWO"] and place == 1
            await queue.restore(session, one, place)
            assert await queued_texts(scene, session) == ["three", "one", "TWO"]
            await queue.send_now(session, two)
            await scene.until(RequestSent, 2)
            assert await user_messages(scene, session) == ["Go.", "TWO", "three", "one"]
            assert await queued_texts(scene, session) == []
            await scene.engine.stop(session)

    run_bounded(main())


def test_a_removed_message_is_not_sent(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session, (one, two, _) = await with_three(scene)
            await scene.engine.queue.remove(session, two)
            await scene.engine.queue.send_now(session, one)
            await scene.until(RequestSent, 2)
            assert await user_messages(scene, session) == ["Go.", "one", "three"]
            with pytest.raises(Problem, match="no longer queued"):
                await scene.engine.queue.remove(session, one)
            with pytest.raises(Problem, match="no longer queued"):
                await scene.engine.queue.edit(session, one, "too late")
            with pytest.raises(Problem, match="empty"):
                await scene.engine.queue.edit(session, two, "  ")
            await scene.engine.stop(session)

    run_bounded(main())


def test_neither_a_stop_nor_a_restart_loses_the_queue(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session, (one, *_) = await with_three(scene)
            await scene.engine.queue.move(session, one, 9)
            await scene.engine.stop(session)
            assert await queued_texts(scene, session) == ["two", "three", "one"]
        async with open_engine(tmp_path) as scene:
            assert await queued_texts(scene, session) == ["two", "three", "one"]
            await scene.engine.queue.edit(session, one, "ONE")
            await scene.engine.queue.send_now(session, one)
            await scene.until(RequestSent)
            assert await user_messages(scene, session) == ["Go.", "ONE", "two", "three"]
            rows = scene.services.reader.steps(session, 0, 99)
            assert [row.object for row in rows if row.kind == "user" and row.status == "done"][1:] == [
                "ONE",
                "two",
                "three",
            ]
            await scene.engine.stop(session)

    run_bounded(main())


def test_the_task_is_not_part_of_the_queue(tmp_path: Path) -> None:
    """The task of a run cannot be removed before its first request."""

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.start(scripted_replies({"fault": "rate_limited", "retry_after_s": 0}, SLOW))
            task = next(e.seq for e in scene.log if isinstance(e.event, UserMessage))
            with pytest.raises(Problem, match="no longer queued"):
                await scene.engine.queue.remove(session, task)
            await scene.engine.stop(session)

    run_bounded(main())


def test_a_run_continued_for_a_message_ends_when_it_is_removed(tmp_path: Path) -> None:
    """Otherwise a request would be sent that ends with the agent's own message."""

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.start(
                scripted_replies(call_reply("run", command="while [ ! -e go ]; do sleep 0.02; done"), SLOW)
            )
            await scene.until(CallStarted)
            await scene.engine.send_message(session, "also this")
            (waiting,) = await scene.engine.queue.list(session)
            await scene.engine.queue.remove(session, waiting.seq)
            (tmp_path / "work" / "go").touch()
            await scene.until(RequestSent, 2)
            assert "also this" not in await user_messages(scene, session)
            await scene.engine.stop(session)
            assert [type(e) for e in await scene.events(session)].count(RunEnded) == 1

    run_bounded(main())


def test_rows_show_edits(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session, (one, two, three) = await with_three(scene)
            await scene.engine.queue.edit(session, two, "TWO")
            await scene.engine.queue.remove(session, one)
            await scene.engine.queue.move(session, three, 0)
            row = scene.engine.session(session)
            said = [step.object for step in scene.engine.timeline_steps(row) if step.kind == "notice"]
            assert said == ["you edited a queued message: TWO", "you removed a queued message: one"]
            await scene.engine.stop(session)
            assert sum(isinstance(e, QueueChanged) for e in await scene.events(session)) == 3

    run_bounded(main())


def test_the_chosen_model_effort_and_limit_are_recorded_at_the_start(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(scripted_replies({"text": "done"}))
            await scene.engine.choose_model(session, "scripted", effort="high", max_output=500)
            began = await scene.engine.last_start(session)
            assert (began.model, began.effort, began.max_output_tokens) == ("scripted", "high", 500)

    run_bounded(main())


def test_send_now_interrupts_the_reply(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session, (one, *_) = await with_three(scene)
            await asyncio.gather(*(scene.engine.queue.send_now(session, one) for _ in range(3)), return_exceptions=True)
            await scene.until(RequestSent, 2)
            assert not any(isinstance(e, Replied) for e in await scene.events(session))
            assert await user_messages(scene, session) == ["Go.", "one", "two", "three"]
            await scene.engine.stop(session)

    run_bounded(main())
