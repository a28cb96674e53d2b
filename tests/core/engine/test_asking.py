"""The agent asks as often as its run may; what was answered before is known; what nobody answered is not made up."""

from dataclasses import replace
from pathlib import Path

import pytest

from core.domain.events import CallRefused, DecisionMade, RunPaused, RunStarted
from core.domain.question import (
    Answer,
    Option,
    Part,
    Question,
    QuestionAnswered,
    QuestionAsked,
    Said,
    same_question,
    spoken,
)
from core.domain.text import Text
from tests.core.engine.scenes import Scene, bounded, calling, opened, played

TWO = [{"label": "A"}, {"label": "B"}]


def asking(text: str, **more: object) -> dict[str, object]:
    return calling("ask_user", question=text, options=TWO, **more)


async def begin(scene: Scene, script: str, **how: object) -> str:
    began = replace(RunStarted("scripted", 60, Text(script)), **how)  # type: ignore[arg-type]
    return await scene.engine.start("Go.", scene.folder, began)


def answered(scene: Scene) -> list[Answer]:
    return [fact.event.answer for fact in scene.facts if isinstance(fact.event, QuestionAnswered)]


def test_P11_what_was_answered_is_not_asked_again(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            again = asking("  which   TONE")
            session = await begin(scene, played(asking("Which tone?"), again, {"text": "{{answer}}"}))
            await scene.until(QuestionAsked)
            [(_, question)] = scene.engine.questions()
            await scene.engine.answer(question.id, Answer("B", "but kind"))
            await scene.engine.wait(session)
            assert scene.status(session) == "done" and not scene.engine.questions()
            assert answered(scene) == [Answer("B", "but kind"), Answer("B", "but kind", by="record")]

    bounded(main())


@pytest.mark.parametrize(("autonomy", "cap"), [("cautious", 5), ("balanced", 3), ("decisive", 1)])
def test_P10_over_the_cap_the_agent_is_told_to_decide(tmp_path: Path, autonomy: str, cap: int) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            script = played(*(asking(f"Number {n}?") for n in range(cap + 1)), {"text": "ok"})
            session = await begin(scene, script, autonomy=autonomy)
            for number in range(cap):
                await scene.until(QuestionAsked, number + 1)
                [(_, question)] = await scene.when(scene.engine.questions)
                await scene.engine.answer(question.id, Answer("A"))
            await scene.engine.wait(session)
            assert scene.status(session) == "done"
            events = [fact.event for fact in scene.facts]
            [refused] = [event for event in events if isinstance(event, CallRefused)]
            assert "Decide by yourself" in refused.reason.head
            [made] = [event for event in events if isinstance(event, DecisionMade)]
            assert made.intent == f"Number {cap}?" and made.choice == "left to the agent"
            assert sum(isinstance(event, QuestionAsked) for event in events) == cap

    bounded(main())


def test_a_form_is_asked_and_answered_at_once(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            form = calling(
                "ask_user",
                questions=[{"question": "Which?", "options": TWO, "several": True}, {"question": "To whom?"}],
            )
            session = await begin(scene, played(form, {"text": "{{answer}}"}))
            await scene.until(QuestionAsked)
            [(_, question)] = scene.engine.questions()
            assert question.text == "Which? (and 1 more)"
            assert question.parts == (
                Part("Which?", (Option("A"), Option("B")), several=True),
                Part("To whom?"),
            )
            given = Answer(parts=(Said("Which?", ("A", "B")), Said("To whom?", text="Ann")))
            await scene.engine.answer(question.id, given)
            await scene.engine.wait(session)
            assert scene.status(session) == "done"
            assert spoken(given) == "Which? A, B\nTo whom? Ann"

    bounded(main())


def test_a_question_nobody_answers_pauses_the_run_and_is_typed_so(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            script = played(asking("Which?"), {"text": "ok"})
            session = await begin(scene, script, unanswered="pause", answer_minutes=0.001)
            paused = (await scene.until(RunPaused)).event
            assert isinstance(paused, RunPaused) and paused.why == "nobody answered in time"
            assert answered(scene) == [Answer(expired=True, by="nobody")] and not scene.engine.questions()
            await scene.engine.wait(session)
            await scene.engine.resume(session)
            await scene.engine.wait(session)
            assert scene.status(session) == "done"

    bounded(main())


def test_the_stated_default_stands_and_is_not_passed_off_as_a_word(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            script = played(asking("Which?", default="B"), asking("And?"), {"text": "ok"})
            session = await begin(scene, script, unanswered="default", answer_minutes=0.001)
            await scene.until(RunPaused)  # the second one states none
            first, second = answered(scene)
            assert first == Answer("B", expired=True, by="nobody") and second == Answer(expired=True, by="nobody")
            assert "No person said so" in spoken(first)
            await scene.engine.wait(session)

    bounded(main())


def test_somebody_who_begins_to_answer_is_waited_for(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            script = played(asking("Which?"), {"text": "ok"})
            session = await begin(scene, script, unanswered="pause", answer_minutes=0.02)
            await scene.until(QuestionAsked)
            [(_, question)] = scene.engine.questions()
            assert (question.expires_s, question.then) == (1.2, "pause")
            await scene.engine.hold(question.id)
            work = scene.services.runs._live[session].work
            assert question.id in work.talk.held
            await scene.engine.answer(question.id, Answer("A"))
            await scene.engine.wait(session)
            assert answered(scene) == [Answer("A")] and scene.status(session) == "done"
            await scene.engine.hold(question.id)  # nothing to hold any more

    bounded(main())


def test_the_same_words_with_other_choices_are_another_question() -> None:
    one = Question("a", "Which?", options=(Option("A"),))
    assert same_question(one, Question("b", "which", options=(Option("a"),)))
    assert not same_question(one, Question("b", "Which?", options=(Option("B"),)))
