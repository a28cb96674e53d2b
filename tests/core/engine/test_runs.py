"""Runs are started, stopped in every state, answered once, resumed, and end as facts."""

import asyncio
import os
from pathlib import Path

import pytest

from core.domain.consent import CallAllowed
from core.domain.events import (
    Call,
    CallStarted,
    PersonSpoke,
    Replied,
    ReplyCut,
    RequestSent,
    Retried,
    RunEnded,
    RunInterrupted,
    RunResumed,
    RunStarted,
    SandboxProven,
    SessionOpened,
    ToolReturned,
)
from core.domain.problems import Problem
from core.domain.question import Answer, QuestionAnswered, QuestionAsked
from core.domain.text import Text
from core.engine.doubt import Doubt
from core.engine.drafts import Draft
from core.engine.runs import CUT, UNHEARD
from core.models import retry
from core.models.catalogue import Catalogue
from core.models.model import Delta, Request
from tests.core.engine.scenes import bounded, calling, opened, played

ASK = calling("ask_user", question="Which?", options=[{"label": "A"}, {"label": "B"}])
ASK_AGAIN = calling("ask_user", question="And now?", options=[{"label": "A"}, {"label": "B"}])


def test_a_run_is_its_journal(tmp_path: Path) -> None:
    """B6: each fact is written as it happens."""

    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.run(played(calling("run", command="echo hi"), {"text": "Done: {{result}}"}))
            events = await scene.events(session)
            assert [type(event) for event in events] == [
                SessionOpened, PersonSpoke, RunStarted, RequestSent, Replied,
                SandboxProven, CallAllowed, CallStarted, ToolReturned, RequestSent, Replied, RunEnded,
            ]  # fmt: skip
            assert isinstance(events[-2], Replied) and events[-2].text.head == "Done: hi\n"
            assert [entry.event for entry in scene.facts] == events
            assert scene.status(session) == "done" and not scene.bugs

    bounded(main())


@pytest.mark.parametrize(
    ("script", "state"),
    [
        (played({"text": "one two three", "chunks": 3, "delay_s": 600}), RequestSent),
        (played(calling("run", command="echo $$ > pid; sleep 600 & sleep 600")), CallStarted),
        (played(ASK), QuestionAsked),
        (played({"fault": "rate_limited", "retry_after_s": 59}), Retried),
        (played({"fault": "silence", "seconds": 600}), RequestSent),
    ],
    ids=["streaming", "command", "waiting", "retry", "silence"],
)
def test_a_stop_is_a_fact_in_every_state(tmp_path: Path, script: str, state: type) -> None:
    """B5, L-B7: whatever it does is cut, and it says that it was stopped."""

    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.start(script)
            await scene.until(state)
            began = asyncio.get_running_loop().time()
            await asyncio.gather(scene.engine.stop(session), scene.engine.stop(session), return_exceptions=True)
            assert asyncio.get_running_loop().time() - began < 2
            assert not scene.engine.going(session) and scene.status(session) == "stopped"
            events = await scene.events(session)
            assert isinstance(events[-1], RunEnded) and events[-1].status == "stopped"
            assert sum(isinstance(event, RunEnded) for event in events) == 1
            assert not scene.engine.questions()
            with pytest.raises(Problem):
                await scene.engine.stop(session)
            assert not _left(scene.folder)

    bounded(main())


def _left(folder: Path) -> list[str]:
    """Processes that still work in the folder."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit() and int(place.name) != os.getpid():
            try:
                if (place / "cwd").readlink() == folder:
                    found.append((place / "cmdline").read_text())
            except OSError:
                continue
    return found


def test_what_was_streamed_before_a_stop_is_kept(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            arrived = asyncio.Event()
            drafts: list[Draft] = []

            def hear(draft: Draft) -> None:
                drafts.append(draft)
                arrived.set()
                raise ValueError("a listener's bug")

            failed: list[dict[str, object]] = []
            asyncio.get_running_loop().set_exception_handler(lambda _, context: failed.append(context))
            scene.engine.listen_drafts(hear)
            session = await scene.start(played({"text": "abcdef", "chunks": 2, "delay_s": 2}))
            await arrived.wait()
            await scene.engine.stop(session)
            cut = [event for event in await scene.events(session) if isinstance(event, ReplyCut)]
            assert cut == [ReplyCut(Text("abc"), "stopped")]
            assert drafts[0].text == "abc" and drafts[-1].ended and failed

    bounded(main())


def test_a_write_is_told_though_it_was_stopped(tmp_path: Path) -> None:
    """No effect without its fact, no effect after the stop."""

    async def main() -> None:
        async with opened(tmp_path) as scene:
            for place in range(20):
                session = await scene.start(played(calling("write", path=f"{place}.txt", content="x" * 100_000)))
                await scene.until(CallStarted, place + 1)
                await scene.engine.stop(session)
                there = (scene.folder / f"{place}.txt").exists()
                assert ("FileChanged" in await scene.kinds(session)) == there
                assert (await scene.kinds(session))[-1] == "RunEnded"

    bounded(main())


def test_an_answer_counts_once(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.start(played(ASK, {"text": "You said {{answer}}"}))
            asked = (await scene.until(QuestionAsked)).event
            assert isinstance(asked, QuestionAsked)
            name = asked.question.id
            both = await asyncio.gather(
                scene.engine.answer(name, Answer(option="A")),
                scene.engine.answer(name, Answer(option="B")),
                return_exceptions=True,
            )
            assert both[0] == session and isinstance(both[1], Problem)
            await scene.engine.wait(session)
            with pytest.raises(Problem, match="not open"):
                await scene.engine.answer(name, Answer(option="B"))
            events = await scene.events(session)
            assert sum(isinstance(event, QuestionAnswered) for event in events) == 1
            assert [event.text.head for event in events if isinstance(event, Replied)][-1] == "You said A"

    bounded(main())


def test_a_question_outlives_the_program(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.start(played(ASK, ASK_AGAIN, {"text": "You said {{answer}}"}))
            await scene.until(QuestionAsked)
        async with opened(tmp_path) as scene:
            assert scene.status(session) == "waiting"
            [(row, question)] = scene.engine.questions()
            assert (row.id, question.text, question.options[1].label) == (session, "Which?", "B")
            await scene.engine.answer(question.id, Answer(text="neither"))
            assert scene.status(session) == "running" and not scene.engine.going(session)
            await scene.engine.resume(session)
            await scene.until(QuestionAsked)
            [(_, question)] = scene.engine.questions()
            await scene.engine.answer(question.id, Answer(declined=True))
            await scene.engine.wait(session)
            kinds = await scene.kinds(session)
            assert kinds.count("QuestionAsked") == kinds.count("QuestionAnswered") == 2
            assert scene.status(session) == "done"

    bounded(main())


def test_an_answer_that_no_run_heard_is_no_crash(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.start(played(ASK, {"text": "You said {{answer}}"}))
            await scene.until(QuestionAsked)
        async with opened(tmp_path) as scene:
            [(_, question)] = scene.engine.questions()
            await scene.engine.answer(question.id, Answer("A"))
        async with opened(tmp_path) as scene:
            assert (await scene.events(session))[-1] == RunInterrupted(UNHEARD)
            await scene.engine.resume(session)
            await scene.engine.wait(session)
            assert scene.status(session) == "done"

    bounded(main())


def test_an_answer_while_the_run_is_taken_up_is_heard_once(tmp_path: Path) -> None:
    async def main() -> None:
        for _ in range(10):
            async with opened(tmp_path) as scene:
                session = await scene.start(played(ASK, {"text": "You said {{answer}}"}))
                await scene.until(QuestionAsked)
            async with opened(tmp_path) as scene:
                [(_, question)] = scene.engine.questions()
                await asyncio.gather(scene.engine.answer(question.id, Answer("A")), scene.engine.resume(session))
                await scene.engine.wait(session)
                kinds = await scene.kinds(session)
                assert kinds.count("QuestionAsked") == kinds.count("QuestionAnswered") == 1
                assert kinds[-1] == "RunEnded" and scene.status(session) == "done"

    bounded(main())


def test_closing_interrupts_what_goes(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.start(played(calling("run", command="sleep 600"), {"text": "on"}))
            await scene.until(CallStarted)
            await scene.services.runs.close()
            with pytest.raises(Problem, match="closing"):
                await scene.start(played())
            assert (await scene.events(session))[-1] == RunInterrupted("Journeyman was closed.")
            assert not _left(scene.folder)
        async with opened(tmp_path) as scene:
            assert scene.status(session) == "interrupted"
            await scene.engine.resume(session)  # the command is known to be ended: nothing is in doubt
            await scene.engine.wait(session)
            assert scene.status(session) == "done"
            assert (await scene.kinds(session)).count("CallStarted") == 1

    bounded(main())


@pytest.mark.parametrize("settle", ["again", "skip", "end"])
def test_a_call_that_may_have_run_needs_a_word(tmp_path: Path, settle: str) -> None:
    """L-B13: nothing is run again by itself."""

    async def main() -> None:
        session = await _crashed_in_a_call(tmp_path)
        async with opened(tmp_path) as scene:
            assert scene.status(session) == "interrupted"
            assert (await scene.events(session))[-1] == RunInterrupted(CUT, ("r1c1",))
            with pytest.raises(Doubt, match="echo x >> effect"):
                await scene.engine.resume(session)
            await scene.engine.resume(session, settle)  # type: ignore[arg-type]
            await scene.engine.wait(session)
            effect = scene.folder / "effect"
            assert effect.exists() == (settle == "again")
            assert scene.status(session) == ("stopped" if settle == "end" else "done")
            assert sum(isinstance(event, RunResumed) for event in await scene.events(session)) == 1
            with pytest.raises(Problem, match="nothing to resume"):
                await scene.engine.resume(session)

    bounded(main())


async def _crashed_in_a_call(home: Path) -> str:
    """A journal that ends in the middle of an act."""
    script = played(calling("run", command="echo x >> effect"), {"text": "done"})
    async with opened(home) as scene:
        name = "crashed"
        journal = scene.services.runs._journal
        await journal.append(name, SessionOpened(name, str(scene.folder), "t"), PersonSpoke(Text("t")))
        await journal.append(name, RunStarted("scripted", 60, Text(script), mode="trust"), RequestSent("scripted", 1))
        await journal.append(name, Replied(calls=(Call("r1c1", "run", Text('{"command": "echo x >> effect"}')),)))
        await journal.append(name, CallStarted("r1c1", "run", "command", "echo x >> effect"))
        return name


def test_words_are_heard_in_the_next_round(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.start(played(calling("run", command="sleep 0.3"), {"text": "a"}, {"text": "b"}))
            await scene.until(CallStarted)
            await scene.engine.say(session, "Also this.")
            await scene.engine.wait(session)
            kinds = await scene.kinds(session)
            assert kinds.count("RunStarted") == 1
            assert kinds.index("RequestSent", kinds.index("ToolReturned")) > kinds.index("PersonSpoke", 3)

    bounded(main())


def test_words_are_never_lost(tmp_path: Path) -> None:
    """Said at any moment of a run's life, they are sent to the model before all is quiet."""

    async def main() -> None:
        async with opened(tmp_path) as scene:
            for turn in range(40):
                session = await scene.start(played({"text": "a"}))
                for _ in range(turn % 10):
                    await asyncio.sleep(0)
                if turn % 3 == 0:
                    await scene.until(Replied, len([e for e in scene.facts if isinstance(e.event, Replied)]) or 1)
                await asyncio.gather(*(scene.engine.say(session, f"{turn} {n}") for n in range(3)))
                await scene.engine.wait(session)
                kinds = await scene.kinds(session)
                spoken = max(place for place, kind in enumerate(kinds) if kind == "PersonSpoke")
                assert "RequestSent" in kinds[spoken:], kinds
                assert kinds.count("RunStarted") == kinds.count("RunEnded") and kinds[-1] == "RunEnded"

    bounded(main())


def test_starts_at_once_are_one(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.run(played({"text": "a"}))
            more = played({"text": "b", "delay_s": 0.2})
            runs = scene.services.runs
            tries = await asyncio.gather(
                *(
                    runs.begin(session, (PersonSpoke(Text(f"{n}")), RunStarted("scripted", 0, Text(more))))
                    for n in range(3)
                ),
                return_exceptions=True,
            )
            assert [isinstance(each, Problem) for each in tries] == [False, True, True]
            await asyncio.gather(scene.engine.stop(session), return_exceptions=True)
            kinds = await scene.kinds(session)
            assert kinds.count("RunStarted") == kinds.count("RunEnded") == 2

    bounded(main())


def test_a_limit_and_a_lasting_fault_are_ends(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            read = calling("read", path="nothing")
            session = await scene.run(played(read, then="loop"), max_rounds=3)
            assert scene.status(session) == "limit" and (await scene.kinds(session)).count("Replied") == 3
            fault = {"fault": "rate_limited", "retry_after_s": 3600}
            session = await scene.run(played(fault))
            last = (await scene.events(session))[-1]
            assert isinstance(last, RunEnded) and last.status == "failed" and last.trouble is not None
            session = await scene.run(played({"fault": "cut", "text": "abcdef", "after_chars": 3}, {"text": "all"}))
            kinds = await scene.kinds(session)
            assert kinds[3:] == ["RequestSent", "ReplyCut", "Retried", "RequestSent", "Replied", "RunEnded"]

    bounded(main())


class Broken:
    """A model with a bug."""

    window = 0

    async def stream(self, request: Request):  # type: ignore[no-untyped-def]
        yield Delta(text="so far")
        raise KeyError("a bug")


def test_a_bug_ends_its_run_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            other = await scene.start(played(calling("run", command="sleep 0.5"), {"text": "fine"}))
            real = Catalogue.model
            monkeypatch.setattr(Catalogue, "model", lambda c, n, s: Broken() if "broken" in s else real(c, n, s))
            session = await scene.start(played({"text": "broken"}))
            await scene.engine.wait(session)
            last = (await scene.events(session))[-1]
            assert isinstance(last, RunEnded) and last.status == "failed" and "KeyError" in str(last.trouble)
            assert [type(bug) for bug in scene.bugs] == [KeyError]
            await scene.engine.wait(other)
            assert scene.status(other) == "done"

    bounded(main())


def test_what_failed_is_tried_again_without_new_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_S", 0.001)

    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.run(played({"fault": "server_error"}, then="repeat_last"))
            await scene.engine.again(session)
            with pytest.raises(Problem, match="going already"):
                await scene.engine.again(session)
            await scene.engine.wait(session)
            events = await scene.events(session)
            assert [each.text.head for each in events if isinstance(each, PersonSpoke)] == ["Go."]
            assert scene.engine.session(session).runs == 2 and scene.status(session) == "failed" and not scene.bugs

    bounded(main())


def test_a_hundred_calls_of_a_reply_are_all_accounted(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            calls = [{"name": "run", "arguments": {"command": f"echo {n} >> all"}} for n in range(98)]
            calls += [{"name": "nope"}, {"name": "run", "arguments": '{"command": "cut'}]
            session = await scene.run(played({"calls": calls}, {"text": "done"}))
            kinds = await scene.kinds(session)
            assert (kinds.count("ToolReturned"), kinds.count("CallRefused")) == (98, 2)
            assert (scene.folder / "all").read_text().split() == [str(n) for n in range(98)]

    bounded(main())


def test_what_is_wrong_is_said_before_anything_is_written(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            for start in (
                scene.start("{"),
                scene.start(played(), task="  "),
                scene.engine.start("t", tmp_path / "none", RunStarted("scripted", 0, Text(played()))),
                scene.engine.start("t", tmp_path, RunStarted("other")),
            ):
                with pytest.raises(Problem):
                    await start
            assert not scene.engine.sessions()
            for act in (scene.engine.stop("x"), scene.engine.resume("x"), scene.engine.say("x", "y")):
                with pytest.raises(Problem, match="no session"):
                    await act

    bounded(main())
