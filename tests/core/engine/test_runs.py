"""Starting, stopping in every state, answering, resuming and ending runs, each recorded as an event."""

import asyncio
import os
from pathlib import Path

import pytest

from core.domain.events import (
    CallStarted,
    Replied,
    ReplyInterrupted,
    RequestRetried,
    RequestSent,
    RunEnded,
    RunInterrupted,
    RunResumed,
    RunStarted,
    SandboxTested,
    SessionCreated,
    ToolCall,
    ToolReturned,
    UserMessage,
)
from core.domain.permissions import CallAllowed
from core.domain.problems import Problem
from core.domain.question import Answer, QuestionAnswered, QuestionAsked
from core.domain.text import Text
from core.engine.lifecycle.run_controller import ANSWER_NOT_RECEIVED, INTERRUPTED_REASON
from core.engine.state.live_updates import LiveUpdate
from core.engine.state.unresolved_calls import UnresolvedCallsError
from core.models import retry
from core.models.catalog import ModelCatalog
from core.models.model import ReplyDelta, Request
from tests.core.engine.harness import call_reply, open_engine, run_bounded, scripted_replies

ASK = call_reply("ask_user", question="Which?", options=[{"label": "A"}, {"label": "B"}])
ASK_AGAIN = call_reply("ask_user", question="And now?", options=[{"label": "A"}, {"label": "B"}])


def test_a_run_is_its_events(tmp_path: Path) -> None:
    """Each event is written as it happens."""

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(
                scripted_replies(call_reply("run", command="echo hi"), {"text": "Done: {{result}}"})
            )
            events = await scene.events(session)
            assert [type(event) for event in events] == [
                SessionCreated, UserMessage, RunStarted, RequestSent, Replied,
                SandboxTested, CallAllowed, CallStarted, ToolReturned, RequestSent, Replied, RunEnded,
            ]  # fmt: skip
            assert isinstance(events[-2], Replied) and events[-2].text.head == "Done: hi\n"
            assert [entry.event for entry in scene.log] == events
            assert [entry.seq for entry in scene.log] == list(range(1, len(events) + 1))
            assert scene.status(session) == "done" and not scene.bugs

    run_bounded(main())


@pytest.mark.parametrize(
    ("script", "state"),
    [
        (scripted_replies({"text": "one two three", "chunks": 3, "delay_s": 600}), RequestSent),
        (scripted_replies(call_reply("run", command="echo $$ > pid; sleep 600 & sleep 600")), CallStarted),
        (scripted_replies(ASK), QuestionAsked),
        (scripted_replies({"fault": "rate_limited", "retry_after_s": 59}), RequestRetried),
        (scripted_replies({"fault": "silence", "seconds": 600}), RequestSent),
    ],
    ids=["streaming", "command", "waiting", "retry", "silence"],
)
def test_a_stop_is_recorded_in_every_state(tmp_path: Path, script: str, state: type) -> None:
    """B5, L-B7: whatever the run is doing is canceled, and the event says that it was stopped."""

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.start(script)
            await scene.until(state)
            began = asyncio.get_running_loop().time()
            await asyncio.gather(scene.engine.stop(session), scene.engine.stop(session), return_exceptions=True)
            assert asyncio.get_running_loop().time() - began < 2
            assert not scene.engine.is_active(session) and scene.status(session) == "stopped"
            events = await scene.events(session)
            assert isinstance(events[-1], RunEnded) and events[-1].status == "stopped"
            assert sum(isinstance(event, RunEnded) for event in events) == 1
            assert not scene.engine.open_questions()
            with pytest.raises(Problem):
                await scene.engine.stop(session)
            assert not _left(scene.folder)

    run_bounded(main())


def _left(folder: Path) -> list[str]:
    """Return the processes whose working directory is the folder."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit() and int(place.name) != os.getpid():
            try:
                if (place / "cwd").readlink() == folder:
                    found.append((place / "cmdline").read_text())
            except OSError:
                continue
    return found


def test_text_streamed_before_a_stop_is_kept(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            arrived = asyncio.Event()
            drafts: list[LiveUpdate] = []

            def hear(draft: LiveUpdate) -> None:
                drafts.append(draft)
                arrived.set()
                raise ValueError("a listener's bug")

            failed: list[dict[str, object]] = []
            asyncio.get_running_loop().set_exception_handler(lambda _, context: failed.append(context))
            scene.engine.subscribe_live_updates(hear)
            session = await scene.start(scripted_replies({"text": "abcdef", "chunks": 2, "delay_s": 2}))
            await arrived.wait()
            await scene.engine.stop(session)
            cut = [event for event in await scene.events(session) if isinstance(event, ReplyInterrupted)]
            assert cut == [ReplyInterrupted(Text("abc"), "stopped")]
            assert drafts[0].text == "abc" and drafts[-1].ended and failed

    run_bounded(main())


def test_a_write_completed_during_a_stop_is_recorded(tmp_path: Path) -> None:
    """No effect without its event, and no effect after the stop."""

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            for place in range(20):
                session = await scene.start(
                    scripted_replies(call_reply("write", path=f"{place}.txt", content="x" * 100_000))
                )
                await scene.until(CallStarted, place + 1)
                await scene.engine.stop(session)
                there = (scene.folder / f"{place}.txt").exists()
                assert ("FileChanged" in await scene.kinds(session)) == there
                assert (await scene.kinds(session))[-1] == "RunEnded"

    run_bounded(main())


def test_an_answer_counts_once(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.start(scripted_replies(ASK, {"text": "You said {{answer}}"}))
            asked = (await scene.until(QuestionAsked)).event
            assert isinstance(asked, QuestionAsked)
            name = asked.question.id
            both = await asyncio.gather(
                scene.engine.answer(name, Answer(option="A")),
                scene.engine.answer(name, Answer(option="B")),
                return_exceptions=True,
            )
            assert both[0] == session and isinstance(both[1], Problem)
            await scene.engine.wait_idle(session)
            with pytest.raises(Problem, match="not open"):
                await scene.engine.answer(name, Answer(option="B"))
            events = await scene.events(session)
            assert sum(isinstance(event, QuestionAnswered) for event in events) == 1
            assert [event.text.head for event in events if isinstance(event, Replied)][-1] == "You said A"

    run_bounded(main())


def test_a_question_survives_a_restart(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.start(scripted_replies(ASK, ASK_AGAIN, {"text": "You said {{answer}}"}))
            await scene.until(QuestionAsked)
        async with open_engine(tmp_path) as scene:
            assert scene.status(session) == "waiting"
            [(row, question)] = scene.engine.open_questions()
            assert (row.id, question.text, question.options[1].label) == (session, "Which?", "B")
            await scene.engine.answer(question.id, Answer(text="neither"))
            assert scene.status(session) == "running" and not scene.engine.is_active(session)
            await scene.engine.resume(session)
            await scene.until(QuestionAsked)
            [(_, question)] = scene.engine.open_questions()
            await scene.engine.answer(question.id, Answer(declined=True))
            await scene.engine.wait_idle(session)
            kinds = await scene.kinds(session)
            assert kinds.count("QuestionAsked") == kinds.count("QuestionAnswered") == 2
            assert scene.status(session) == "done"

    run_bounded(main())


def test_an_answer_that_reached_no_run_is_no_crash(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.start(scripted_replies(ASK, {"text": "You said {{answer}}"}))
            await scene.until(QuestionAsked)
        async with open_engine(tmp_path) as scene:
            [(_, question)] = scene.engine.open_questions()
            await scene.engine.answer(question.id, Answer("A"))
        async with open_engine(tmp_path) as scene:
            assert (await scene.events(session))[-1] == RunInterrupted(ANSWER_NOT_RECEIVED)
            await scene.engine.resume(session)
            await scene.engine.wait_idle(session)
            assert scene.status(session) == "done"

    run_bounded(main())


def test_an_answer_while_the_run_resumes_is_delivered_once(tmp_path: Path) -> None:
    async def main() -> None:
        for _ in range(10):
            async with open_engine(tmp_path) as scene:
                session = await scene.start(scripted_replies(ASK, {"text": "You said {{answer}}"}))
                await scene.until(QuestionAsked)
            async with open_engine(tmp_path) as scene:
                [(_, question)] = scene.engine.open_questions()
                await asyncio.gather(scene.engine.answer(question.id, Answer("A")), scene.engine.resume(session))
                await scene.engine.wait_idle(session)
                kinds = await scene.kinds(session)
                assert kinds.count("QuestionAsked") == kinds.count("QuestionAnswered") == 1
                assert kinds[-1] == "RunEnded" and scene.status(session) == "done"

    run_bounded(main())


def test_closing_interrupts_running_work(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.start(scripted_replies(call_reply("run", command="sleep 600"), {"text": "on"}))
            await scene.until(CallStarted)
            await scene.services.runs.close()
            with pytest.raises(Problem, match="shutting down"):
                await scene.start(scripted_replies())
            assert (await scene.events(session))[-1] == RunInterrupted("Journeyman was closed.")
            assert not _left(scene.folder)
        async with open_engine(tmp_path) as scene:
            assert scene.status(session) == "interrupted"
            await scene.engine.resume(session)  # The command is known to have ended, so no call is unresolved.
            await scene.engine.wait_idle(session)
            assert scene.status(session) == "done"
            assert (await scene.kinds(session)).count("CallStarted") == 1

    run_bounded(main())


@pytest.mark.parametrize("settle", ["retry", "skip", "abort"])
def test_a_call_that_may_have_run_needs_a_decision(tmp_path: Path, settle: str) -> None:
    """L-B13: nothing is repeated without a decision."""

    async def main() -> None:
        session = await _crashed_in_a_call(tmp_path)
        async with open_engine(tmp_path) as scene:
            assert scene.status(session) == "interrupted"
            assert (await scene.events(session))[-1] == RunInterrupted(INTERRUPTED_REASON, ("r1c1",))
            with pytest.raises(UnresolvedCallsError, match="echo x >> effect"):
                await scene.engine.resume(session)
            await scene.engine.resume(session, settle)  # type: ignore[arg-type]
            await scene.engine.wait_idle(session)
            effect = scene.folder / "effect"
            assert effect.exists() == (settle == "retry")
            assert scene.status(session) == ("stopped" if settle == "abort" else "done")
            assert sum(isinstance(event, RunResumed) for event in await scene.events(session)) == 1
            with pytest.raises(Problem, match="nothing to resume"):
                await scene.engine.resume(session)

    run_bounded(main())


async def _crashed_in_a_call(home: Path) -> str:
    """Create a session whose events end in the middle of a call."""
    script = scripted_replies(call_reply("run", command="echo x >> effect"), {"text": "done"})
    async with open_engine(home) as scene:
        name = "crashed"
        journal = scene.services.runs._journal
        await journal.append(name, SessionCreated(name, str(scene.folder), "t"), UserMessage(Text("t")))
        await journal.append(name, RunStarted("scripted", 60, Text(script), mode="auto"), RequestSent("scripted", 1))
        await journal.append(name, Replied(calls=(ToolCall("r1c1", "run", Text('{"command": "echo x >> effect"}')),)))
        await journal.append(name, CallStarted("r1c1", "run", "command", "echo x >> effect"))
        return name


def test_messages_are_sent_in_the_next_turn(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.start(
                scripted_replies(call_reply("run", command="sleep 0.3"), {"text": "a"}, {"text": "b"})
            )
            await scene.until(CallStarted)
            await scene.engine.send_message(session, "Also this.")
            await scene.engine.wait_idle(session)
            kinds = await scene.kinds(session)
            assert kinds.count("RunStarted") == 1
            assert kinds.index("RequestSent", kinds.index("ToolReturned")) > kinds.index("UserMessage", 3)

    run_bounded(main())


def test_messages_are_never_lost(tmp_path: Path) -> None:
    """A message sent at any moment of a run reaches the model before the session is idle."""

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            for turn in range(40):
                session = await scene.start(scripted_replies({"text": "a"}))
                for _ in range(turn % 10):
                    await asyncio.sleep(0)
                if turn % 3 == 0:
                    await scene.until(Replied, len([e for e in scene.log if isinstance(e.event, Replied)]) or 1)
                await asyncio.gather(*(scene.engine.send_message(session, f"{turn} {n}") for n in range(3)))
                await scene.engine.wait_idle(session)
                kinds = await scene.kinds(session)
                spoken = max(place for place, kind in enumerate(kinds) if kind == "UserMessage")
                assert "RequestSent" in kinds[spoken:], kinds
                assert kinds.count("RunStarted") == kinds.count("RunEnded") and kinds[-1] == "RunEnded"

    run_bounded(main())


def test_concurrent_starts_make_one_run(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(scripted_replies({"text": "a"}))
            more = scripted_replies({"text": "b", "delay_s": 0.2})
            runs = scene.services.runs
            tries = await asyncio.gather(
                *(
                    runs.start(session, (UserMessage(Text(f"{n}")), RunStarted("scripted", 0, Text(more))))
                    for n in range(3)
                ),
                return_exceptions=True,
            )
            assert [isinstance(each, Problem) for each in tries] == [False, True, True]
            await asyncio.gather(scene.engine.stop(session), return_exceptions=True)
            kinds = await scene.kinds(session)
            assert kinds.count("RunStarted") == kinds.count("RunEnded") == 2

    run_bounded(main())


def test_limits_and_lasting_errors_end_the_run(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            read = {"text": "I read.", **call_reply("read", path="nothing")}
            session = await scene.run(scripted_replies(read, then="loop"), max_turns=3)
            kinds = await scene.kinds(session)
            assert scene.status(session) == "limit" and kinds.count("Replied") == kinds.count("RequestSent") == 3
            ended = (await scene.events(session))[-1]
            assert isinstance(ended, RunEnded) and ended.summary.head == "I read."
            fault = {"fault": "rate_limited", "retry_after_s": 3600}
            session = await scene.run(scripted_replies(fault))
            last = (await scene.events(session))[-1]
            assert isinstance(last, RunEnded) and last.status == "failed" and last.error is not None
            session = await scene.run(
                scripted_replies({"fault": "cut", "text": "abcdef", "after_chars": 3}, {"text": "all"})
            )
            kinds = await scene.kinds(session)
            assert kinds[3:] == [
                "RequestSent",
                "ReplyInterrupted",
                "RequestRetried",
                "RequestSent",
                "Replied",
                "RunEnded",
            ]

    run_bounded(main())


class Broken:
    """A model with a bug."""

    window = 0

    async def stream(self, request: Request):  # type: ignore[no-untyped-def]
        yield ReplyDelta(text="so far")
        raise KeyError("a bug")


def test_an_internal_error_ends_its_run_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            other = await scene.start(scripted_replies(call_reply("run", command="sleep 0.5"), {"text": "fine"}))
            real = ModelCatalog.model
            monkeypatch.setattr(ModelCatalog, "model", lambda c, n, s: Broken() if "broken" in s else real(c, n, s))
            session = await scene.start(scripted_replies({"text": "broken"}))
            await scene.engine.wait_idle(session)
            last = (await scene.events(session))[-1]
            assert isinstance(last, RunEnded) and last.status == "failed" and "KeyError" in str(last.error)
            assert [type(bug) for bug in scene.bugs] == [KeyError]
            await scene.engine.wait_idle(other)
            assert scene.status(other) == "done"

    run_bounded(main())


def test_a_failed_request_is_retried_without_a_new_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "INITIAL_DELAY_S", 0.001)

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(scripted_replies({"fault": "server_error"}, then="repeat_last"))
            await scene.engine.run_again(session)
            with pytest.raises(Problem, match="already active"):
                await scene.engine.run_again(session)
            await scene.engine.wait_idle(session)
            events = await scene.events(session)
            assert [each.text.head for each in events if isinstance(each, UserMessage)] == ["Go."]
            assert scene.engine.session(session).runs == 2 and scene.status(session) == "failed" and not scene.bugs

    run_bounded(main())


def test_each_of_a_hundred_calls_has_a_result(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            calls = [{"name": "run", "arguments": {"command": f"echo {n} >> all"}} for n in range(98)]
            calls += [{"name": "nope"}, {"name": "run", "arguments": '{"command": "cut'}]
            session = await scene.run(scripted_replies({"calls": calls}, {"text": "done"}))
            kinds = await scene.kinds(session)
            assert (kinds.count("ToolReturned"), kinds.count("CallRefused")) == (98, 2)
            assert (scene.folder / "all").read_text().split() == [str(n) for n in range(98)]

    run_bounded(main())


def test_errors_are_reported_before_anything_is_written(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            for start in (
                scene.start("{"),
                scene.start(scripted_replies(), task="  "),
                scene.engine.start("t", tmp_path / "none", RunStarted("scripted", 0, Text(scripted_replies()))),
                scene.engine.start("t", tmp_path, RunStarted("other")),
            ):
                with pytest.raises(Problem):
                    await start
            assert not scene.engine.sessions()
            for act in (scene.engine.stop("x"), scene.engine.resume("x"), scene.engine.send_message("x", "y")):
                with pytest.raises(Problem, match="no session"):
                    await act

    run_bounded(main())
