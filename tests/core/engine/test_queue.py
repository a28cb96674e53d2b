"""Words that wait: changed, moved, taken back, put back, sent now; never lost by a stop, never sent twice."""

import asyncio
from pathlib import Path

import pytest

from core.domain.events import CallStarted, PersonSpoke, QueueChanged, Replied, RequestSent, RunEnded
from core.domain.problems import Problem
from core.engine.conversation import conversation
from core.engine.doubt import GOES_ON
from tests.core.engine.scenes import Scene, bounded, calling, opened, played

SLOW = {"text": "one two three four", "chunks": 4, "delay_s": 600}


async def waits(scene: Scene, session: str) -> list[str]:
    """What the engine says; the window, which reads the end of the journal, says the same."""
    said = [(one.entry, one.text.head) for one in await scene.engine.queue.list(session)]
    goes_on = scene.status(session) in GOES_ON
    assert [(one.entry, one.text) for one in scene.services.reader.queued(session, goes_on)] == said
    return [text for _, text in said]


async def heard(scene: Scene, session: str) -> list[str]:
    """The messages of the person that the model was sent."""
    talk = conversation([entry async for entry in scene.engine.entries(session)])
    return [message.text.head for message in talk.messages if message.role == "user"]


async def with_three(scene: Scene, *replies: object) -> tuple[str, list[int]]:
    """A run that is thinking, and three messages that wait for it."""
    session = await scene.start(played(SLOW, *replies or ({"text": "done"},)))  # type: ignore[arg-type]
    await scene.until(RequestSent)
    for word in ("one", "two", "three"):
        await scene.engine.say(session, word)
    return session, [one.entry for one in await scene.engine.queue.list(session)]


def test_what_waits_is_changed_and_sent_in_its_new_order(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session, (one, two, three) = await with_three(scene)
            queue = scene.engine.queue
            await queue.move(session, three, 0)
            await queue.edit(session, two, "TWO")
            place = await queue.remove(session, one)
            assert await waits(scene, session) == ["three", "TWO"] and place == 1
            await queue.put_back(session, one, place)
            assert await waits(scene, session) == ["three", "one", "TWO"]
            await queue.send_now(session, two)
            await scene.until(RequestSent, 2)
            assert await heard(scene, session) == ["Go.", "TWO", "three", "one"]
            assert await waits(scene, session) == []
            await scene.engine.stop(session)

    bounded(main())


def test_a_message_that_was_taken_back_is_not_sent(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session, (one, two, _) = await with_three(scene)
            await scene.engine.queue.remove(session, two)
            await scene.engine.queue.send_now(session, one)
            await scene.until(RequestSent, 2)
            assert await heard(scene, session) == ["Go.", "one", "three"]
            with pytest.raises(Problem, match="waits no more"):
                await scene.engine.queue.remove(session, one)
            with pytest.raises(Problem, match="waits no more"):
                await scene.engine.queue.edit(session, one, "too late")
            with pytest.raises(Problem, match="empty"):
                await scene.engine.queue.edit(session, two, "  ")
            await scene.engine.stop(session)

    bounded(main())


def test_a_stop_loses_nothing_and_a_restart_neither(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session, (one, *_) = await with_three(scene)
            await scene.engine.queue.move(session, one, 9)
            await scene.engine.stop(session)
            assert await waits(scene, session) == ["two", "three", "one"]
        async with opened(tmp_path) as scene:
            assert await waits(scene, session) == ["two", "three", "one"]
            await scene.engine.queue.edit(session, one, "ONE")
            await scene.engine.queue.send_now(session, one)
            await scene.until(RequestSent)
            assert await heard(scene, session) == ["Go.", "ONE", "two", "three"]
            await scene.engine.stop(session)

    bounded(main())


def test_the_task_is_no_part_of_the_queue(tmp_path: Path) -> None:
    """While a run has not sent its first request, its task cannot be taken from it."""

    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.start(played({"fault": "rate_limited", "retry_after_s": 0}, SLOW))
            task = next(e.seq for e in scene.facts if isinstance(e.event, PersonSpoke))
            with pytest.raises(Problem, match="waits no more"):
                await scene.engine.queue.remove(session, task)
            await scene.engine.stop(session)

    bounded(main())


def test_a_run_that_goes_on_for_words_ends_when_they_are_taken_back(tmp_path: Path) -> None:
    """A request without anything new would end in the agent's own words."""

    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.start(played(calling("run", command="while [ ! -e go ]; do sleep 0.02; done"), SLOW))
            await scene.until(CallStarted)
            await scene.engine.say(session, "also this")
            (waiting,) = await scene.engine.queue.list(session)
            await scene.engine.queue.remove(session, waiting.entry)
            (tmp_path / "work" / "go").touch()
            await scene.until(RequestSent, 2)
            assert "also this" not in await heard(scene, session)
            await scene.engine.stop(session)
            assert [type(e) for e in await scene.events(session)].count(RunEnded) == 1

    bounded(main())


def test_rows_say_what_was_changed(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session, (one, two, three) = await with_three(scene)
            await scene.engine.queue.edit(session, two, "TWO")
            await scene.engine.queue.remove(session, one)
            await scene.engine.queue.move(session, three, 0)
            row = scene.engine.session(session)
            said = [step.object for step in scene.engine.steps(row) if step.kind == "notice"]
            assert said == ["you changed a queued message to: TWO", "you took a queued message back: one"]
            await scene.engine.stop(session)
            assert sum(isinstance(e, QueueChanged) for e in await scene.events(session)) == 3

    bounded(main())


def test_what_was_chosen_is_told(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.run(played({"text": "done"}))
            await scene.engine.choose_model(session, "scripted", effort="high", max_output=500)
            began = await scene.engine.begun(session)
            assert (began.model, began.effort, began.max_output) == ("scripted", "high", 500)

    bounded(main())


def test_send_now_cuts_the_reply(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session, (one, *_) = await with_three(scene)
            await asyncio.gather(*(scene.engine.queue.send_now(session, one) for _ in range(3)), return_exceptions=True)
            await scene.until(RequestSent, 2)
            assert not any(isinstance(e, Replied) for e in await scene.events(session))
            assert await heard(scene, session) == ["Go.", "one", "two", "three"]
            await scene.engine.stop(session)

    bounded(main())
