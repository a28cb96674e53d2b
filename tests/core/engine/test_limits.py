"""A limit that is met within a round."""

from pathlib import Path

import pytest

from core.domain.events import LimitMet, LimitRaised, ReplyCut, RequestSent, Retried, RunStarted
from core.domain.question import Answer, QuestionAsked
from core.domain.text import Text
from tests.core.engine.scenes import bounded, opened, played
from tests.core.engine.test_replay import same_again


def test_a_limit_that_the_last_round_went_over_is_told(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            script = played({"text": "done", "usage": {"input": 90, "output": 20}})
            began = RunStarted("scripted", script=Text(script), max_tokens=100)
            session = await scene.engine.start("Go.", scene.folder, began)
            await scene.engine.wait(session)
            met = [event for event in await scene.events(session) if isinstance(event, LimitMet)]
            assert met == [LimitMet("tokens", 110.0, 100.0, 100)] and scene.status(session) == "done"

    bounded(main())


@pytest.mark.parametrize("chunks", [1, 400])
def test_a_reply_is_cut_when_the_time_of_the_run_is_over(tmp_path: Path, chunks: int) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            script = played({"text": "slow " * 400, "delay_s": 20.0, "chunks": chunks})
            began = RunStarted("scripted", script=Text(script), max_minutes=0.01)
            session = await scene.engine.start("Go.", scene.folder, began)
            await scene.engine.wait(session)
            events = await scene.events(session)
            assert sum(isinstance(event, RequestSent) for event in events) == 1
            (cut,) = [event for event in events if isinstance(event, ReplyCut)]
            assert cut.why == "the time of the run was over"
            (met,) = [event for event in events if isinstance(event, LimitMet)]
            assert met.share == 100 and 0.01 <= met.used < 0.2 and scene.status(session) == "limit"
            assert not (await same_again(scene, tmp_path, session)).differing

    bounded(main())


def test_a_wait_that_the_server_asked_for_ends_with_the_time_of_the_run(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            busy, late = {"fault": "rate_limited", "retry_after_s": 200}, {"text": "late", "delay_s": 20.0}
            began = RunStarted("scripted", script=Text(played(busy, late)), max_minutes=0.01)
            session = await scene.engine.start("Go.", scene.folder, began)
            await scene.engine.wait(session)
            events = await scene.events(session)
            assert [event.wait_s for event in events if isinstance(event, Retried)] == [200]
            assert scene.status(session) == "limit"
            assert not (await same_again(scene, tmp_path, session)).differing

    bounded(main())


def test_a_person_who_is_there_may_give_a_run_more_time(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            script = played({"text": "slow", "delay_s": 1.5})
            began = RunStarted("scripted", script=Text(script), attended=True, mode="trust", max_minutes=0.02)
            session = await scene.engine.start("Go.", scene.folder, began)
            for count, most in enumerate(("0.02", "0.04"), 1):  # the reply begins anew each time
                asked = (await scene.until(QuestionAsked, count)).event
                assert isinstance(asked, QuestionAsked) and f"limit of {most} minutes" in asked.question.text
                await scene.engine.answer(asked.question.id, Answer(option="Go on"))
            await scene.engine.wait(session)
            assert LimitRaised("minutes", 0.04) in await scene.events(session) and scene.status(session) == "done"

    bounded(main())
