"""A run that is watched: limits, pauses, repeats, words sent now, reads that go together."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.domain.events import (
    CallStarted,
    Entry,
    LimitMet,
    LimitRaised,
    Nudged,
    PersonSpoke,
    Replied,
    ReplyCut,
    RequestSent,
    Retried,
    RunEnded,
    RunEvent,
    RunPaused,
    RunResumed,
    RunStarted,
    ToolReturned,
)
from core.domain.question import Answer, QuestionAsked
from core.domain.text import Text
from core.workspace.broker import SMALL
from tests.core.engine.scenes import Scene, bounded, calling, opened, played

READ = calling("read", path="a.txt")


async def attended(scene: Scene, script: str, **limits: Any) -> str:
    began = replace(RunStarted("scripted", script=Text(script), attended=True, mode="trust"), **limits)
    return await scene.engine.start("Go.", scene.folder, began)


def test_a_limit_is_told_of_before_it_is_met(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            (scene.folder / "a.txt").write_text("x")
            session = await scene.run(played(READ, then="repeat_last"), max_rounds=5)
            met = [event for event in await scene.events(session) if isinstance(event, LimitMet)]
            assert [(each.limit, each.used, each.share) for each in met] == [("rounds", 4.0, 80), ("rounds", 5.0, 100)]
            ended = (await scene.events(session))[-1]
            assert isinstance(ended, RunEnded) and (ended.status, ended.reason) == (
                "limit",
                "5 rounds, the limit of this run",
            )

    asyncio.run(main())


def test_tokens_are_a_limit_too(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            (scene.folder / "a.txt").write_text("x")
            script = played({**READ, "usage": {"input": 90, "output": 10}}, then="repeat_last")
            session = await scene.engine.start(
                "Go.", scene.folder, RunStarted("scripted", script=Text(script), max_tokens=250)
            )
            await scene.engine.wait(session)
            assert scene.status(session) == "limit" and scene.engine.session(session).tokens == 300

    asyncio.run(main())


def test_a_person_who_is_there_is_asked_to_extend(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            (scene.folder / "a.txt").write_text("x")
            session = await attended(scene, played(*[READ] * 3, {"text": "done"}), max_rounds=2)
            asked = (await scene.until(QuestionAsked)).event
            assert isinstance(asked, QuestionAsked) and "limit of 2 rounds" in asked.question.text
            await scene.engine.answer(asked.question.id, Answer(option="Go on"))
            await scene.engine.wait(session)
            raised = next(event for event in await scene.events(session) if isinstance(event, LimitRaised))
            assert raised == LimitRaised("rounds", 4.0)
            assert scene.status(session) == "done"

    asyncio.run(main())


def test_a_pause_holds_between_rounds_and_goes_on(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            (scene.folder / "a.txt").write_text("x")
            session = await scene.start(played({**READ, "delay_s": 0.05}, {"text": "done"}))
            await scene.until(RequestSent)
            await scene.engine.pause(session)
            await scene.engine.wait(session)
            assert scene.status(session) == "paused"
            assert [type(event) for event in await scene.events(session)][-2:] == [ToolReturned, RunPaused]
            await scene.engine.resume(session)
            await scene.engine.wait(session)
            kinds = await scene.kinds(session)
            assert scene.status(session) == "done" and kinds.count("RunResumed") == 1 and kinds[-1] == "RunEnded"
            assert isinstance((await scene.until(RunResumed)).event, RunResumed)

    asyncio.run(main())


def test_a_request_that_fails_for_long_pauses_where_somebody_is_there(tmp_path: Path) -> None:
    """B4, L-B12: a fault of the model is a fact, and loses nothing."""

    async def main() -> None:
        async with opened(tmp_path) as scene:
            too_long = {"fault": "rate_limited", "retry_after_s": 3600}
            session = await attended(scene, played(too_long, {"text": "done"}))
            await scene.engine.wait(session)
            assert scene.status(session) == "paused"
            await scene.engine.resume(session)
            await scene.engine.wait(session)
            assert scene.status(session) == "paused"  # the same request, and the same answer to it
            assert not any(isinstance(event, Retried) for event in await scene.events(session))

    asyncio.run(main())


def test_the_same_call_again_is_nudged_then_asked_about(tmp_path: Path) -> None:
    """B10, L-B11: a call that repeats is not let go on for ever."""

    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.start(played(READ, then="repeat_last"), max_rounds=0)
            asked = (await scene.until(QuestionAsked)).event
            assert isinstance(asked, QuestionAsked) and "read failed 6 times in a row" in asked.question.why
            events = await scene.events(session)
            assert sum(isinstance(event, Nudged) for event in events) == 1
            assert sum(isinstance(event, ToolReturned) for event in events) == 6
            await scene.engine.answer(asked.question.id, Answer(option="End the run"))
            await scene.engine.wait(session)
            assert scene.status(session) == "stopped"

    asyncio.run(main())


def test_words_sent_now_cut_the_reply_and_are_heard_next(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            slow = {"text": "one two three four", "chunks": 4, "delay_s": 40}
            session = await scene.start(played(slow, {"text": "two"}))
            await scene.until(RequestSent)
            await scene.engine.say(session, "Stop that.", now=True)
            await scene.until(RequestSent, 2)
            kinds = await scene.kinds(session)
            assert kinds[-2:] == ["PersonSpoke", "RequestSent"] or "ReplyCut" in kinds
            assert not any(isinstance(event, Replied) for event in await scene.events(session))
            await scene.engine.stop(session)

    asyncio.run(main())


def test_words_sent_now_while_a_reply_is_written_down_leave_its_calls_their_results(tmp_path: Path) -> None:
    """The reply is whole, so nothing is cut; its calls are done before the words are heard."""

    async def main() -> None:
        async with opened(tmp_path) as scene:
            (scene.folder / "a.txt").write_text("x")
            begin = scene.services.runs._journal.begin
            said: list[asyncio.Task[None]] = []

            async def late(session: str, *events: RunEvent, **more: Any) -> Entry:
                if isinstance(events[0], Replied) and not said:
                    said.append(asyncio.create_task(scene.engine.say(session, "Wait.", now=True)))
                    await scene.until(PersonSpoke, 2)
                return await begin(session, *events, **more)

            scene.services.runs._journal.begin = lambda *given, **more: asyncio.ensure_future(late(*given, **more))  # type: ignore[method-assign]
            session = await scene.start(played(READ, {"text": "done"}))
            await scene.until(RunEnded)
            await said[0]
            kinds = await scene.kinds(session)
            assert kinds.index("ToolReturned") < [i for i, kind in enumerate(kinds) if kind == "RequestSent"][1], kinds
            assert scene.status(session) == "done" and not scene.bugs

    asyncio.run(main())


def test_reads_of_a_reply_go_together_and_writes_in_order(tmp_path: Path) -> None:
    """B9: neighbours that only read do not wait for each other."""

    async def main() -> None:
        async with opened(tmp_path) as scene:
            for name in "abc":
                (scene.folder / name).write_text(name * (SMALL + 1))  # what is small is read at once
            calls = [
                {"name": "read", "arguments": {"path": "a"}},
                {"name": "read", "arguments": {"path": "b"}},
                {"name": "write", "arguments": {"path": "a", "content": "new"}},
                {"name": "read", "arguments": {"path": "a"}},
            ]
            session = await scene.run(played({"calls": calls}, {"text": "done"}))
            order = [
                (type(event).__name__, event.call_id)
                for event in await scene.events(session)
                if isinstance(event, CallStarted | ToolReturned)
            ]
            assert order[:2] == [("CallStarted", "r1c1"), ("CallStarted", "r1c2")]
            assert order[4:] == [
                ("CallStarted", "r1c3"),
                ("ToolReturned", "r1c3"),
                ("CallStarted", "r1c4"),
                ("ToolReturned", "r1c4"),
            ]
            last = [event for event in await scene.events(session) if isinstance(event, ToolReturned)][-1]
            assert last.output.head == "new"
            assert not any(isinstance(event, ReplyCut) for event in await scene.events(session))

    asyncio.run(main())


def test_results_reach_the_model_in_the_order_of_its_calls(tmp_path: Path) -> None:
    """The slow read was asked for first: it ends last, and stands first."""

    async def main() -> None:
        async with opened(tmp_path) as scene:
            (scene.folder / "big").write_text("long " * 400_000)
            (scene.folder / "small").write_text("short")
            calls = [
                {"name": "search", "arguments": {"pattern": "(l|o|n|g| )+z", "path": "big"}},
                {"name": "read", "arguments": {"path": "small"}},
            ]
            session = await scene.run(played({"calls": calls}, {"text": "It says {{result}}"}))
            facts = await scene.events(session)
            back = [event.call_id for event in facts if isinstance(event, ToolReturned)]
            assert back == ["r1c2", "r1c1"]
            talk = await scene.services.runs.talk(session)
            assert [each.call_id for each in talk.messages if each.role == "tool"] == ["r1c1", "r1c2"]
            last = [event for event in facts if isinstance(event, Replied)][-1]
            assert last.text.head == "It says short"

    bounded(main())


def test_L_B10_half_written_arguments_reach_no_tool(tmp_path: Path) -> None:
    """They are sent back with what is wrong, and are never taken for no arguments."""

    async def main() -> None:
        async with opened(tmp_path) as scene:
            half = {
                "calls": [
                    {"name": "write", "arguments": '{"path": "a.txt", "conte'},
                    {"name": "find", "arguments": "{"},
                ]
            }
            session = await scene.run(played(half, {"text": "done"}))
            kinds = await scene.kinds(session)
            assert kinds.count("CallRefused") == 2 and "CallStarted" not in kinds and scene.status(session) == "done"
            assert not (scene.folder / "a.txt").exists()

    asyncio.run(main())
