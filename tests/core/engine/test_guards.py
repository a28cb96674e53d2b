"""The guards of a run: limits, pauses, repeated calls, interrupting messages and concurrent reads."""

import asyncio
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.domain.events import (
    CallStarted,
    EventRecord,
    HarnessMessage,
    LimitRaised,
    LimitThresholdReached,
    Replied,
    ReplyInterrupted,
    RequestRetried,
    RequestSent,
    RunEnded,
    RunPaused,
    RunResumed,
    RunStarted,
    SessionEvent,
    ToolReturned,
    UserMessage,
)
from core.domain.question import Answer, QuestionAsked
from core.domain.text import Text
from core.engine.state.repeats import RepeatCounter
from core.workspace.broker import SMALL
from tests.core.engine.harness import EngineHarness, call_reply, open_engine, run_bounded, scripted_replies

READ = call_reply("read", path="a.txt")


async def attended(scene: EngineHarness, script: str, **limits: Any) -> str:
    began = replace(RunStarted("scripted", script=Text(script), interactive=True, mode="auto"), **limits)
    return await scene.engine.start("Go.", scene.folder, began)


def test_a_notice_precedes_a_limit(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            (scene.folder / "a.txt").write_text("x")
            session = await scene.run(scripted_replies(READ, then="repeat_last"), max_turns=5)
            met = [event for event in await scene.events(session) if isinstance(event, LimitThresholdReached)]
            assert [(each.limit, each.used, each.percent) for each in met] == [
                ("turns", 4.0, 80),
                ("turns", 5.0, 100),
            ]
            ended = (await scene.events(session))[-1]
            assert isinstance(ended, RunEnded) and (ended.status, ended.reason) == (
                "limit",
                "5 turns, the limit of this run",
            )

    asyncio.run(main())


def test_tokens_have_a_limit_too(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            (scene.folder / "a.txt").write_text("x")
            script = scripted_replies({**READ, "usage": {"input": 90, "output": 10}}, then="repeat_last")
            session = await scene.engine.start(
                "Go.", scene.folder, RunStarted("scripted", script=Text(script), max_tokens=250)
            )
            await scene.engine.wait_idle(session)
            assert scene.status(session) == "limit" and scene.engine.session(session).tokens == 300

    asyncio.run(main())


def test_a_present_user_is_asked_to_extend_a_limit(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            (scene.folder / "a.txt").write_text("x")
            session = await attended(scene, scripted_replies(*[READ] * 3, {"text": "done"}), max_turns=2)
            asked = (await scene.until(QuestionAsked)).event
            assert isinstance(asked, QuestionAsked) and "limit of 2 turns" in asked.question.text
            await scene.engine.answer(asked.question.id, Answer(option="Continue"))
            await scene.engine.wait_idle(session)
            raised = next(event for event in await scene.events(session) if isinstance(event, LimitRaised))
            assert raised == LimitRaised("turns", 4.0)
            assert scene.status(session) == "done"

    asyncio.run(main())


def test_a_pause_takes_effect_between_turns_and_can_be_resumed(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            (scene.folder / "a.txt").write_text("x")
            session = await scene.start(scripted_replies({**READ, "delay_s": 0.05}, {"text": "done"}))
            await scene.until(RequestSent)
            await scene.engine.pause(session)
            await scene.engine.wait_idle(session)
            assert scene.status(session) == "paused"
            assert [type(event) for event in await scene.events(session)][-2:] == [ToolReturned, RunPaused]
            await scene.engine.resume(session)
            await scene.engine.wait_idle(session)
            kinds = await scene.kinds(session)
            assert scene.status(session) == "done" and kinds.count("RunResumed") == 1 and kinds[-1] == "RunEnded"
            assert isinstance((await scene.until(RunResumed)).event, RunResumed)

    asyncio.run(main())


def test_a_lasting_request_error_pauses_an_attended_run(tmp_path: Path) -> None:
    """B4, L-B12: an error of the model is recorded as an event, and nothing is lost."""

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            too_long = {"fault": "rate_limited", "retry_after_s": 3600}
            session = await attended(scene, scripted_replies(too_long, {"text": "done"}))
            await scene.engine.wait_idle(session)
            assert scene.status(session) == "paused"
            await scene.engine.resume(session)
            await scene.engine.wait_idle(session)
            assert scene.status(session) == "paused"  # the same request gets the same response
            assert not any(isinstance(event, RequestRetried) for event in await scene.events(session))

    asyncio.run(main())


def test_repeating_a_call_that_changes_nothing_counts_as_failing(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            (scene.folder / "a").write_text("b")
            same = call_reply("write", path="a", content="b")
            session = await scene.start(scripted_replies(same, then="repeat_last"), max_turns=0)
            asked = (await scene.until(QuestionAsked)).event
            assert isinstance(asked, QuestionAsked) and "write changed nothing 6 times" in asked.question.reason
            await scene.engine.answer(asked.question.id, Answer(option="End the run"))
            await scene.engine.wait_idle(session)

    asyncio.run(main())


@pytest.mark.parametrize("paths", ["ab", "abc"])
def test_calls_repeated_in_turn_cause_a_reminder_then_a_question(tmp_path: Path, paths: str) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            cycle = [call_reply("read", path=path) for path in paths]
            session = await scene.start(scripted_replies(*cycle, then="loop"), max_turns=0)
            asked = (await scene.until(QuestionAsked)).event
            tools = ", ".join("read" for _ in paths)
            assert isinstance(asked, QuestionAsked)
            assert asked.question.reason == f"The same calls ({tools}) gave the same results 6 times in a row."
            events = await scene.events(session)
            [reminder] = [event for event in events if isinstance(event, HarnessMessage)]
            assert "3 times in a row" in reminder.text.head
            assert sum(isinstance(event, ToolReturned) for event in events) == 6 * len(paths)
            await scene.engine.answer(asked.question.id, Answer(text="Look elsewhere."))
            await scene.until(QuestionAsked, 2)  # After the answer, the count starts again at 0.
            events = await scene.events(session)
            assert sum(isinstance(event, ToolReturned) for event in events) == 12 * len(paths)
            await scene.engine.stop(session)

    run_bounded(main())


def test_concurrent_reads_are_counted_in_the_order_of_their_calls() -> None:
    repeats = RepeatCounter()
    for turn in range(6):
        repeats.start_turn()
        calls = [f"{turn}{path}" for path in "ab"]
        for call in calls:
            repeats.add_call(call, "read", call[1:])
        for call in calls if turn % 2 else reversed(calls):
            repeats.add_result(call, "There is no such file.", True)
        assert (repeats.should_warn, repeats.stuck) == (turn == 2, turn == 5)


def test_calls_whose_arguments_differ_in_order_or_spaces_are_the_same() -> None:
    repeats = RepeatCounter()
    same = ('{"path":"a","start":2}', '{"start": 2, "path": "a"}', '{"path": "a","start":2}')
    for turn, arguments in enumerate(same):
        repeats.start_turn()
        repeats.add_call(f"{turn}", "read", arguments)
        repeats.add_result(f"{turn}", "There is no such file.", True)
        assert repeats.should_warn == (turn == 2)


@pytest.mark.parametrize("arguments", ["{not JSON", "NaN", "[" * 100_000, '{"a": 1, "a": 2}', "", "0" * 5_000])
def test_invalid_arguments_are_counted_as_they_are(arguments: str) -> None:
    repeats = RepeatCounter()
    for turn in range(3):
        repeats.start_turn()
        repeats.add_call(f"{turn}", "read", arguments)
        repeats.add_result(f"{turn}", "The arguments are invalid.", True)
    assert repeats.should_warn


def test_long_arguments_that_differ_only_at_their_end_are_no_repetition(tmp_path: Path) -> None:
    """The event of a reply has only the beginning of long arguments."""

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            (scene.folder / "a.txt").write_text("x")
            texts = ["y" * 9_000 + end for end in "abcdefg"]
            edits = [call_reply("edit", path="a.txt", old_string=text, new_string="z") for text in texts]
            session = await scene.run(scripted_replies(*edits, {"text": "It is not there."}))
            events = await scene.events(session)
            assert [event.failed for event in events if isinstance(event, ToolReturned)] == [True] * 7
            assert not any(isinstance(event, HarnessMessage) for event in events)

    run_bounded(main())


def test_calls_with_different_results_are_no_repetition() -> None:
    repeats = RepeatCounter()
    for turn in range(40):
        repeats.start_turn()
        repeats.add_call(f"{turn}", "run", "make" if turn % 2 else "edit")
        repeats.add_result(f"{turn}", f"{turn} errors" if turn % 2 else "ok", False)
        assert not repeats.should_warn and not repeats.stuck


@pytest.mark.skipif(sys.platform == "win32", reason="the command is for a POSIX shell")
def test_L_B11_a_failing_command_whose_output_changes_is_noticed(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            failing = call_reply("run", command="echo . >> log; wc -l log; exit 3")
            session = await scene.start(scripted_replies(failing, then="repeat_last"), max_turns=20)
            asked = (await scene.until(QuestionAsked)).event
            assert isinstance(asked, QuestionAsked) and "run failed 6 times in a row" in asked.question.reason
            await scene.engine.stop(session)

    run_bounded(main())


def test_a_repeated_call_causes_a_reminder_then_a_question(tmp_path: Path) -> None:
    """B10, L-B11: a call cannot be repeated forever."""

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.start(scripted_replies(READ, then="repeat_last"), max_turns=0)
            asked = (await scene.until(QuestionAsked)).event
            assert isinstance(asked, QuestionAsked) and "read failed 6 times in a row" in asked.question.reason
            events = await scene.events(session)
            assert sum(isinstance(event, HarnessMessage) for event in events) == 1
            assert sum(isinstance(event, ToolReturned) for event in events) == 6
            await scene.engine.answer(asked.question.id, Answer(option="End the run"))
            await scene.engine.wait_idle(session)
            assert scene.status(session) == "stopped"

    asyncio.run(main())


def test_a_call_repeated_within_one_reply_causes_the_reminder_too(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            twice = {"calls": READ["calls"] * 2}
            session = await scene.start(scripted_replies(twice, then="repeat_last"), max_turns=0)
            await scene.until(QuestionAsked)
            kinds = await scene.kinds(session)
            assert kinds.count("HarnessMessage") == 1
            assert kinds.index("HarnessMessage") < kinds.index("QuestionAsked")
            assert kinds[: kinds.index("HarnessMessage")].count("ToolReturned") == 4
            await scene.engine.stop(session)

    asyncio.run(main())


def test_a_call_repeated_seven_times_in_one_reply_causes_no_question_yet(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.start(scripted_replies({"calls": READ["calls"] * 7}, {"text": "ok"}), max_turns=0)
            await scene.engine.wait_idle(session)
            kinds = await scene.kinds(session)
            assert kinds.count("HarnessMessage") == 1 and "QuestionAsked" not in kinds

    asyncio.run(main())


def test_a_message_sent_now_interrupts_the_reply(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            slow = {"text": "one two three four", "chunks": 4, "delay_s": 40}
            session = await scene.start(scripted_replies(slow, {"text": "two"}))
            await scene.until(RequestSent)
            await scene.engine.send_message(session, "Stop that.", now=True)
            await scene.until(RequestSent, 2)
            kinds = await scene.kinds(session)
            assert kinds[-2:] == ["UserMessage", "RequestSent"] or "ReplyInterrupted" in kinds
            assert not any(isinstance(event, Replied) for event in await scene.events(session))
            await scene.engine.stop(session)

    asyncio.run(main())


def test_a_message_sent_now_waits_for_a_running_call(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            wait = call_reply("run", command="until [ -e go ]; do sleep 0.02; done")
            session = await scene.start(scripted_replies(wait, {"text": "ok"}))
            await scene.until(CallStarted)
            await scene.engine.send_message(session, "And then?", now=True)
            (scene.folder / "go").touch()
            await scene.engine.wait_idle(session)
            kinds = await scene.kinds(session)
            assert kinds.index("UserMessage", 3) < kinds.index("ToolReturned") < kinds.index("RequestSent", 5)
            (returned,) = [event for event in await scene.events(session) if isinstance(event, ToolReturned)]
            assert not returned.failed and scene.status(session) == "done"

    asyncio.run(main())


def test_a_message_sent_while_a_reply_is_recorded_leaves_its_calls_their_results(tmp_path: Path) -> None:
    """The reply is complete, so it is not interrupted; its calls are executed before the message is sent."""

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            (scene.folder / "a.txt").write_text("x")
            begin = scene.services.runs._journal.append_staged
            said: list[asyncio.Task[None]] = []

            async def late(session: str, *events: SessionEvent, **more: Any) -> asyncio.Future[EventRecord]:
                if isinstance(events[0], Replied) and not said:
                    said.append(asyncio.create_task(scene.engine.send_message(session, "Wait.", now=True)))
                    await scene.until(UserMessage, 2)
                return await begin(session, *events, **more)

            scene.services.runs._journal.append_staged = late  # type: ignore[method-assign]
            session = await scene.start(scripted_replies(READ, {"text": "done"}))
            await scene.until(RunEnded)
            await said[0]
            kinds = await scene.kinds(session)
            assert kinds.index("ToolReturned") < [i for i, kind in enumerate(kinds) if kind == "RequestSent"][1], kinds
            assert scene.status(session) == "done" and not scene.bugs

    asyncio.run(main())


def test_reads_of_a_reply_run_concurrently_and_writes_in_order(tmp_path: Path) -> None:
    """Consecutive read-only calls do not wait for each other."""

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            for name in "abc":
                (scene.folder / name).write_text(name * (SMALL + 1))  # smaller files are read in one step
            calls = [
                {"name": "read", "arguments": {"path": "a"}},
                {"name": "read", "arguments": {"path": "b"}},
                {"name": "write", "arguments": {"path": "a", "content": "new"}},
                {"name": "read", "arguments": {"path": "a"}},
            ]
            session = await scene.run(scripted_replies({"calls": calls}, {"text": "done"}))
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
            assert not any(isinstance(event, ReplyInterrupted) for event in await scene.events(session))

    asyncio.run(main())


def test_results_reach_the_model_in_the_order_of_its_calls(tmp_path: Path) -> None:
    """The slow read was requested first: it ends last, but its result comes first."""

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            (scene.folder / "big").write_text("long " * 400_000)
            (scene.folder / "small").write_text("short")
            calls = [
                {"name": "search", "arguments": {"pattern": "(l|o|n|g| )+z", "path": "big"}},
                {"name": "read", "arguments": {"path": "small"}},
            ]
            session = await scene.run(scripted_replies({"calls": calls}, {"text": "It says {{result}}"}))
            facts = await scene.events(session)
            back = [event.call_id for event in facts if isinstance(event, ToolReturned)]
            assert back == ["r1c2", "r1c1"]
            talk = await scene.services.runs.conversation(session)
            assert [each.call_id for each in talk.messages if each.role == "tool"] == ["r1c1", "r1c2"]
            last = [event for event in facts if isinstance(event, Replied)][-1]
            assert last.text.head == "It says short"

    run_bounded(main())


def test_L_B10_incomplete_arguments_reach_no_tool(tmp_path: Path) -> None:
    """The call is refused with the error, and incomplete arguments are never treated as no arguments."""

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            half = {
                "calls": [
                    {"name": "write", "arguments": '{"path": "a.txt", "conte'},
                    {"name": "find", "arguments": "{"},
                ]
            }
            session = await scene.run(scripted_replies(half, {"text": "done"}))
            kinds = await scene.kinds(session)
            assert kinds.count("CallRefused") == 2 and "CallStarted" not in kinds and scene.status(session) == "done"
            assert not (scene.folder / "a.txt").exists()

    asyncio.run(main())
