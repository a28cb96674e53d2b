"""Questions of the agent: their limit per run, reuse of earlier answers, and timeouts."""

from dataclasses import replace
from pathlib import Path

import pytest

from core.domain.clock import SECOND, now
from core.domain.events import CallRefused, DecisionMade, RunPaused, RunStarted
from core.domain.problems import Problem
from core.domain.question import (
    Answer,
    Question,
    QuestionAnswered,
    QuestionAsked,
    QuestionOption,
    SubAnswer,
    SubQuestion,
    answer_text,
    is_same_question,
)
from core.domain.text import Text
from core.engine.run import run_context
from core.engine.run.engine_calls import ENGINE_CALLS
from core.tools.catalogue import ENGINE_TOOLS
from tests.core.engine.harness import EngineHarness, call_reply, open_engine, run_bounded, scripted_replies

TWO = [{"label": "A"}, {"label": "B"}]


def asking(text: str, **more: object) -> dict[str, object]:
    return call_reply("ask_user", question=text, options=TWO, **more)


async def begin(scene: EngineHarness, script: str, **how: object) -> str:
    began = replace(RunStarted("scripted", 60, Text(script)), **how)  # type: ignore[arg-type]
    return await scene.engine.start("Go.", scene.folder, began)


def answered(scene: EngineHarness) -> list[Answer]:
    return [fact.event.answer for fact in scene.log if isinstance(fact.event, QuestionAnswered)]


def test_the_engine_executes_every_call_that_the_catalog_leaves_to_it() -> None:
    assert ENGINE_CALLS.keys() == ENGINE_TOOLS.keys()


def test_P11_an_answered_question_is_not_asked_again(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            again = asking("  which   TONE")
            session = await begin(scene, scripted_replies(asking("Which tone?"), again, {"text": "{{answer}}"}))
            await scene.until(QuestionAsked)
            [(_, question)] = scene.engine.open_questions()
            await scene.engine.answer(question.id, Answer("B", "but kind"))
            await scene.engine.wait_idle(session)
            assert scene.status(session) == "done" and not scene.engine.open_questions()
            assert answered(scene) == [Answer("B", "but kind"), Answer("B", "but kind", answered_by="earlier_answer")]

    run_bounded(main())


def test_P11_a_question_asked_twice_in_one_reply_is_asked_once(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            texts = ("Which tone?", "And which length?", "  which   TONE")
            calls = [{"name": "ask_user", "arguments": {"question": text, "options": TWO}} for text in texts]
            session = await begin(scene, scripted_replies({"calls": calls}, {"text": "ok"}))
            await scene.until(QuestionAsked, 2)
            for _, question in scene.engine.open_questions():
                await scene.engine.answer(question.id, Answer("A"))
            await scene.engine.wait_idle(session)
            assert scene.status(session) == "done" and not scene.engine.open_questions()
            assert [answer.answered_by for answer in answered(scene)] == ["user", "user", "earlier_answer"]

    run_bounded(main())


def test_P11_a_question_that_nobody_answered_is_asked_again(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            script = scripted_replies(asking("Which tone?"), asking("Which tone?"), {"text": "ok"})
            session = await begin(scene, script)
            unanswered = Answer(declined=True, answered_by="no_questions")
            for number in (1, 2):
                await scene.until(QuestionAsked, number)
                [(_, question)] = await scene.when(scene.engine.open_questions)
                await scene.engine.answer(question.id, unanswered)
            await scene.engine.wait_idle(session)
            assert answered(scene) == [unanswered, unanswered]

    run_bounded(main())


def test_an_answer_is_one_that_the_question_allows(tmp_path: Path) -> None:
    """A typed label chooses its option; other text is refused where only options count, and the question stays open."""

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            closed = asking("Which?", free_text=False)
            form = call_reply(
                "ask_user",
                questions=[{"question": "A or B?", "options": TWO, "free_text": False}, {"question": "Who?"}],
            )
            session = await begin(scene, scripted_replies(closed, form, {"text": "{{answer}}"}))
            await scene.until(QuestionAsked)
            [(_, question)] = scene.engine.open_questions()
            for refused in (Answer(text="neither"), Answer("C"), Answer("A", "but later"), Answer(), Answer(text=" ")):
                with pytest.raises(Problem):
                    await scene.engine.answer(question.id, refused)
            assert [open_ for _, open_ in scene.engine.open_questions()] == [question] and not answered(scene)
            await scene.engine.answer(question.id, Answer(text="b"))
            await scene.until(QuestionAsked, 2)
            [(_, question)] = scene.engine.open_questions()
            for text in ("neither\nAnn", "one line"):
                with pytest.raises(Problem):
                    await scene.engine.answer(question.id, Answer(text=text))
            await scene.engine.answer(question.id, Answer(text="a\nAnn"))
            await scene.engine.wait_idle(session)
            in_parts = (SubAnswer("A or B?", ("A",)), SubAnswer("Who?", (), "Ann"))
            assert answered(scene) == [Answer("B"), Answer(sub_answers=in_parts)]

    run_bounded(main())


@pytest.mark.parametrize("labels", [("", "B"), (" ", "B"), ("A", "a ")])
def test_every_option_needs_a_label_of_its_own(tmp_path: Path, labels: tuple[str, ...]) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            ask = call_reply("ask_user", question="Which?", options=[{"label": label} for label in labels])
            await scene.run(scripted_replies(ask, {"text": "done"}))
            [refused] = [entry.event for entry in scene.log if isinstance(entry.event, CallRefused)]
            assert "a label of its own" in refused.reason.head
            assert not any(isinstance(entry.event, QuestionAsked) for entry in scene.log)

    run_bounded(main())


@pytest.mark.parametrize(("autonomy", "cap"), [("cautious", 5), ("balanced", 3), ("decisive", 1)])
def test_P10_over_the_question_limit_the_agent_is_asked_to_decide(tmp_path: Path, autonomy: str, cap: int) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            script = scripted_replies(*(asking(f"Number {n}?") for n in range(cap + 1)), {"text": "ok"})
            session = await begin(scene, script, autonomy=autonomy)
            for number in range(cap):
                await scene.until(QuestionAsked, number + 1)
                [(_, question)] = await scene.when(scene.engine.open_questions)
                await scene.engine.answer(question.id, Answer("A"))
            await scene.engine.wait_idle(session)
            assert scene.status(session) == "done"
            events = [fact.event for fact in scene.log]
            [refused] = [event for event in events if isinstance(event, CallRefused)]
            assert "Decide yourself" in refused.reason.head
            [made] = [event for event in events if isinstance(event, DecisionMade)]
            assert made.intent == f"Number {cap}?" and made.choice == "left to the agent"
            assert sum(isinstance(event, QuestionAsked) for event in events) == cap

    run_bounded(main())


def test_P10_the_questions_of_one_reply_are_asked_at_once_up_to_the_limit(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            calls = [{"name": "ask_user", "arguments": {"question": f"Number {n}?", "options": TWO}} for n in range(4)]
            session = await begin(scene, scripted_replies({"calls": calls}, {"text": "ok"}))
            await scene.until(QuestionAsked, 3)
            await scene.until(CallRefused)
            assert len(scene.engine.open_questions()) == 3
            for _, question in scene.engine.open_questions():
                await scene.engine.answer(question.id, Answer("A"))
            await scene.engine.wait_idle(session)
            assert scene.status(session) == "done" and len(answered(scene)) == 3

    run_bounded(main())


def test_a_form_is_asked_and_answered_at_once(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            form = call_reply(
                "ask_user",
                questions=[{"question": "Which?", "options": TWO, "multi_select": True}, {"question": "To whom?"}],
            )
            session = await begin(scene, scripted_replies(form, {"text": "{{answer}}"}))
            await scene.until(QuestionAsked)
            [(_, question)] = scene.engine.open_questions()
            assert question.text == "Which? (and 1 more)"
            assert question.sub_questions == (
                SubQuestion("Which?", (QuestionOption("A"), QuestionOption("B")), multi_select=True),
                SubQuestion("To whom?"),
            )
            given = Answer(sub_answers=(SubAnswer("Which?", ("A", "B")), SubAnswer("To whom?", text="Ann")))
            await scene.engine.answer(question.id, given)
            await scene.engine.wait_idle(session)
            assert scene.status(session) == "done"
            assert answer_text(given) == "Which? A, B\nTo whom? Ann"

    run_bounded(main())


def test_an_unanswered_question_pauses_the_run_with_its_own_status(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            script = scripted_replies(asking("Which?"), {"text": "ok"})
            session = await begin(scene, script, on_unanswered="pause", answer_timeout_minutes=0.001)
            paused = (await scene.until(RunPaused)).event
            assert isinstance(paused, RunPaused) and paused.reason == "nobody answered in time"
            assert answered(scene) == [Answer(expired=True, answered_by="nobody")] and not scene.engine.open_questions()
            await scene.engine.wait_idle(session)
            await scene.engine.resume(session)
            await scene.engine.wait_idle(session)
            assert scene.status(session) == "done"

    run_bounded(main())


def test_a_question_expires_by_the_time_of_day_after_the_computer_slept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock of timeouts stops during sleep: an hour passes for the wall clock only."""
    slept = [0]
    monkeypatch.setattr(run_context, "CLOCK_CHECK_S", 0.02)
    monkeypatch.setattr(run_context, "now", lambda: now() + slept[0])

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            script = scripted_replies(asking("Which?"), {"text": "ok"})
            session = await begin(scene, script, on_unanswered="pause", answer_timeout_minutes=30)
            await scene.until(QuestionAsked)
            slept[0] = 3600 * SECOND
            paused = (await scene.until(RunPaused)).event
            assert isinstance(paused, RunPaused) and paused.reason == "nobody answered in time"
            await scene.engine.wait_idle(session)

    run_bounded(main())


def test_the_default_answer_is_used_and_not_presented_as_an_answer_of_the_user(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            script = scripted_replies(asking("Which?", default="B"), asking("And?"), {"text": "ok"})
            session = await begin(scene, script, on_unanswered="default", answer_timeout_minutes=0.001)
            await scene.until(RunPaused)  # the second question has no default
            first, second = answered(scene)
            assert first == Answer("B", expired=True, answered_by="nobody") and second == Answer(
                expired=True, answered_by="nobody"
            )
            assert "The user did not confirm it" in answer_text(first)
            await scene.engine.wait_idle(session)

    run_bounded(main())


def test_a_user_who_started_to_answer_is_waited_for(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            script = scripted_replies(asking("Which?"), {"text": "ok"})
            session = await begin(scene, script, on_unanswered="pause", answer_timeout_minutes=0.02)
            await scene.until(QuestionAsked)
            [(_, question)] = scene.engine.open_questions()
            assert (question.timeout_s, question.on_unanswered) == (1.2, "pause")
            await scene.engine.start_answering(question.id)
            work = scene.services.runs._live[session].context
            assert question.id in work.conversation.being_answered
            await scene.engine.answer(question.id, Answer("A"))
            await scene.engine.wait_idle(session)
            assert answered(scene) == [Answer("A")] and scene.status(session) == "done"
            await scene.engine.start_answering(question.id)  # holding a question that is no longer open does nothing

    run_bounded(main())


def test_the_same_question_with_other_options_is_another_question() -> None:
    one = Question("a", "Which?", options=(QuestionOption("A"),))
    assert is_same_question(one, Question("b", "which", options=(QuestionOption("a"),)))
    assert not is_same_question(one, Question("b", "Which?", options=(QuestionOption("B"),)))
    assert not is_same_question(one, replace(one, free_text=False)), "an earlier answer may not be among the options"
    assert not is_same_question(one, replace(one, multi_select=True))
    deletes = replace(one, options=(QuestionOption("A", "Deletes the table."),))
    assert not is_same_question(one, deletes), "the answer meant something else"
