"""Messages to an inactive run: the run continues with them once, and no second run is started."""

from pathlib import Path

from core.domain.events import CallStarted, RequestSent, UserMessage
from core.domain.problems import Problem
from core.domain.question import Answer, QuestionAsked
from tests.core.engine.harness import EngineHarness, call_reply, crash, open_engine, run_bounded, scripted_replies

ASK = call_reply("ask_user", question="Which?", options=[{"label": "a"}, {"label": "b"}])


async def one_run(scene: EngineHarness, session: str) -> list[str]:
    """Check that there was one run and that it has ended. Return the names of its events."""
    await scene.engine.wait_idle(session)
    kinds = await scene.kinds(session)
    assert kinds.count("RunStarted") == kinds.count("RunEnded") == 1, kinds
    assert "RequestSent" in kinds[len(kinds) - kinds[::-1].index("UserMessage") :], (
        "the message was not sent to the model"
    )
    return kinds


def test_a_paused_run_continues_with_a_message(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            (scene.folder / "a.txt").write_text("x")
            read = {**call_reply("read", path="a.txt"), "delay_s": 0.05}
            session = await scene.start(scripted_replies(read, {"text": "done"}))
            await scene.until(RequestSent)
            await scene.engine.pause(session)
            await scene.engine.wait_idle(session)
            await scene.engine.send_message(session, "Look at b too.")
            assert (await one_run(scene, session)).count("RunResumed") == 1

    run_bounded(main())


def test_an_interrupted_run_continues_with_a_message(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.start(scripted_replies({"text": "a", "delay_s": 60}, {"text": "b"}))
            await scene.until(RequestSent)
            await crash(scene)
        async with open_engine(tmp_path) as scene:
            assert scene.status(session) == "interrupted"
            await scene.engine.send_message(session, "Go on.")
            await scene.until(UserMessage)
            await scene.engine.stop(session)
            kinds = await scene.kinds(session)
            assert kinds.count("RunStarted") == 1 and kinds.count("RunResumed") == 1 and kinds[-1] == "RunEnded"

    run_bounded(main())


def test_a_pending_question_is_not_skipped(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.start(scripted_replies(ASK, {"text": "done"}))
            asked = (await scene.until(QuestionAsked)).event
            assert isinstance(asked, QuestionAsked)
        async with open_engine(tmp_path) as scene:
            await scene.engine.send_message(session, "By the way.")
            assert scene.status(session) == "waiting" and len(scene.engine.open_questions()) == 1
            await scene.engine.answer(asked.question.id, Answer(option="a"), resume=True)
            await one_run(scene, session)

    run_bounded(main())


def test_a_message_waits_for_an_unresolved_call(tmp_path: Path) -> None:
    """A message does not resolve a call that may have run, so nothing is repeated and the run does not continue."""

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.start(
                scripted_replies(call_reply("run", command="echo x >> effect; sleep 60"), {"text": "done"})
            )
            await scene.until(CallStarted)
            await crash(scene)
        async with open_engine(tmp_path) as scene:
            await scene.engine.send_message(session, "Go on.")
            assert scene.status(session) == "interrupted" and not scene.engine.is_active(session)
            await scene.engine.resume(session, "skip")
            await one_run(scene, session)

    run_bounded(main())


def test_a_message_that_cannot_be_delivered_is_not_stored(tmp_path: Path) -> None:
    """If the folder is gone, the message is rejected rather than stored, so that it is not sent twice."""

    async def main() -> None:
        async with open_engine(tmp_path, tmp_path / "gone") as scene:
            session = await scene.start(scripted_replies({"text": "a", "delay_s": 60}))
            await scene.until(RequestSent)
            await crash(scene)
            scene.folder.rmdir()
        async with open_engine(tmp_path) as scene:
            try:
                await scene.engine.send_message(session, "Go on.")
            except Problem as problem:
                assert "cannot be opened" in str(problem)
            assert (await scene.kinds(session)).count("UserMessage") == 1

    run_bounded(main())
