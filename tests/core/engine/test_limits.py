"""Limits that are reached during a turn."""

from pathlib import Path

import pytest

from core.domain.events import (
    LimitRaised,
    LimitThresholdReached,
    ReplyInterrupted,
    RequestRetried,
    RequestSent,
    RunStarted,
)
from core.domain.question import Answer, QuestionAsked
from core.domain.text import Text
from tests.core.engine.harness import open_engine, run_bounded, scripted_replies
from tests.core.engine.test_replay import same_again


def test_a_limit_exceeded_by_the_last_turn_is_reported(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            script = scripted_replies({"text": "done", "usage": {"input": 90, "output": 20}})
            began = RunStarted("scripted", script=Text(script), max_tokens=100)
            session = await scene.engine.start("Go.", scene.folder, began)
            await scene.engine.wait_idle(session)
            met = [event for event in await scene.events(session) if isinstance(event, LimitThresholdReached)]
            assert met == [LimitThresholdReached("tokens", 110.0, 100.0, 100)] and scene.status(session) == "done"

    run_bounded(main())


@pytest.mark.parametrize("chunks", [1, 400])
def test_a_reply_is_interrupted_at_the_time_limit_of_the_run(tmp_path: Path, chunks: int) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            script = scripted_replies({"text": "slow " * 400, "delay_s": 20.0, "chunks": chunks})
            began = RunStarted("scripted", script=Text(script), max_minutes=0.01)
            session = await scene.engine.start("Go.", scene.folder, began)
            await scene.engine.wait_idle(session)
            events = await scene.events(session)
            assert sum(isinstance(event, RequestSent) for event in events) == 1
            (cut,) = [event for event in events if isinstance(event, ReplyInterrupted)]
            assert cut.reason == "the time of the run was over"
            (met,) = [event for event in events if isinstance(event, LimitThresholdReached)]
            assert met.percent == 100 and 0.01 <= met.used < 0.2 and scene.status(session) == "limit"
            assert not (await same_again(scene, tmp_path, session)).differing

    run_bounded(main())


def test_a_wait_requested_by_the_provider_ends_with_the_time_of_the_run(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            busy, late = {"fault": "rate_limited", "retry_after_s": 200}, {"text": "late", "delay_s": 20.0}
            began = RunStarted("scripted", script=Text(scripted_replies(busy, late)), max_minutes=0.01)
            session = await scene.engine.start("Go.", scene.folder, began)
            await scene.engine.wait_idle(session)
            events = await scene.events(session)
            assert [event.wait_s for event in events if isinstance(event, RequestRetried)] == [200]
            assert scene.status(session) == "limit"
            assert not (await same_again(scene, tmp_path, session)).differing

    run_bounded(main())


def test_a_present_user_may_give_a_run_more_time(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            script = scripted_replies({"text": "slow", "delay_s": 1.5})
            began = RunStarted("scripted", script=Text(script), interactive=True, mode="auto", max_minutes=0.02)
            session = await scene.engine.start("Go.", scene.folder, began)
            for count, most in enumerate(("0.02", "0.04"), 1):  # the reply starts over each time
                asked = (await scene.until(QuestionAsked, count)).event
                assert isinstance(asked, QuestionAsked) and f"limit of {most} minutes" in asked.question.text
                await scene.engine.answer(asked.question.id, Answer(option="Continue"))
            await scene.engine.wait_idle(session)
            assert LimitRaised("minutes", 0.04) in await scene.events(session) and scene.status(session) == "done"

    run_bounded(main())
