"""Words to a run that rests: it goes on with them, once; no second run begins beside the one that is open."""

from pathlib import Path

from core.domain.events import CallStarted, PersonSpoke, RequestSent
from core.domain.problems import Problem
from core.domain.question import Answer, QuestionAsked
from tests.core.engine.scenes import Scene, bounded, calling, crash, opened, played

ASK = calling("ask_user", question="Which?", options=[{"label": "a"}, {"label": "b"}])


async def one_run(scene: Scene, session: str) -> list[str]:
    """The kinds of the facts; there was one run, and it has come to its end."""
    await scene.engine.wait(session)
    kinds = await scene.kinds(session)
    assert kinds.count("RunStarted") == kinds.count("RunEnded") == 1, kinds
    assert "RequestSent" in kinds[len(kinds) - kinds[::-1].index("PersonSpoke") :], "the model was sent the words"
    return kinds


def test_a_paused_run_goes_on_with_them(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            (scene.folder / "a.txt").write_text("x")
            read = {**calling("read", path="a.txt"), "delay_s": 0.05}
            session = await scene.start(played(read, {"text": "done"}))
            await scene.until(RequestSent)
            await scene.engine.pause(session)
            await scene.engine.wait(session)
            await scene.engine.say(session, "Look at b too.")
            assert (await one_run(scene, session)).count("RunResumed") == 1

    bounded(main())


def test_an_interrupted_run_goes_on_with_them(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.start(played({"text": "a", "delay_s": 60}, {"text": "b"}))
            await scene.until(RequestSent)
            await crash(scene)
        async with opened(tmp_path) as scene:
            assert scene.status(session) == "interrupted"
            await scene.engine.say(session, "Go on.")
            await scene.until(PersonSpoke)
            await scene.engine.stop(session)
            kinds = await scene.kinds(session)
            assert kinds.count("RunStarted") == 1 and kinds.count("RunResumed") == 1 and kinds[-1] == "RunEnded"

    bounded(main())


def test_a_question_that_waits_is_not_passed_over(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.start(played(ASK, {"text": "done"}))
            asked = (await scene.until(QuestionAsked)).event
            assert isinstance(asked, QuestionAsked)
        async with opened(tmp_path) as scene:
            await scene.engine.say(session, "By the way.")
            assert scene.status(session) == "waiting" and len(scene.engine.questions()) == 1
            await scene.engine.answer(asked.question.id, Answer(option="a"), go_on=True)
            await one_run(scene, session)

    bounded(main())


def test_words_wait_where_a_call_may_have_run(tmp_path: Path) -> None:
    """Nothing is run again, and nothing goes on, for words that do not say what to do with it."""

    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.start(played(calling("run", command="echo x >> effect; sleep 60"), {"text": "done"}))
            await scene.until(CallStarted)
            await crash(scene)
        async with opened(tmp_path) as scene:
            await scene.engine.say(session, "Go on.")
            assert scene.status(session) == "interrupted" and not scene.engine.going(session)
            await scene.engine.resume(session, "skip")
            await one_run(scene, session)

    bounded(main())


def test_words_that_cannot_be_heard_are_not_kept(tmp_path: Path) -> None:
    """Where the folder has gone they are given back, so that they are not said twice."""

    async def main() -> None:
        async with opened(tmp_path, tmp_path / "gone") as scene:
            session = await scene.start(played({"text": "a", "delay_s": 60}))
            await scene.until(RequestSent)
            await crash(scene)
            scene.folder.rmdir()
        async with opened(tmp_path) as scene:
            try:
                await scene.engine.say(session, "Go on.")
            except Problem as problem:
                assert "cannot be opened" in str(problem)
            assert (await scene.kinds(session)).count("PersonSpoke") == 1

    bounded(main())
