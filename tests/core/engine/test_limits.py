"""Limits that are reached during a turn."""

import errno
from pathlib import Path

import pytest

from core.domain.events import (
    LimitRaised,
    LimitThresholdReached,
    Replied,
    ReplyInterrupted,
    RequestRetried,
    RequestSent,
    RunStarted,
)
from core.domain.question import Answer, QuestionAsked
from core.domain.text import Text
from core.settings.schema import PriceOverride, Provider
from core.store.partial_reply import PartialReply
from tests.core.engine.harness import open_engine, run_bounded, scripted_replies
from tests.core.engine.test_replay import same_again
from tests.servers.scripted_server import answer, chunk, scripted_server, stream


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


def test_P29_a_reply_records_its_price_and_a_limit_on_it_applies_before_the_next_request(tmp_path: Path) -> None:
    call = {"index": 0, "id": "c", "function": {"name": "find", "arguments": '{"pattern": "*"}'}}
    usage = {"prompt_tokens": 1000, "completion_tokens": 100}
    replies = [answer(stream(chunk(tool_calls=[call]), {**chunk("tool_calls"), "usage": usage})) for _ in range(5)]

    async def main() -> None:
        async with scripted_server(*replies) as server, open_engine(tmp_path) as scene:
            price = PriceOverride(model="box/m", input=10.0, output=100.0)
            scene.engine.settings.change(providers=(Provider(name="box", url=server.url),), prices=(price,))
            session = await scene.engine.start("Go.", scene.folder, RunStarted("box/m", max_cost=0.05, mode="auto"))
            await scene.engine.wait_idle(session)
            costs = [event.cost for event in await scene.events(session) if isinstance(event, Replied)]
            assert costs == [pytest.approx(0.02)] * 3 and scene.status(session) == "limit"
            assert sum(request.path.endswith("/chat/completions") for request in server.requests) == 3

    run_bounded(main())


def test_P29_tokens_that_a_provider_does_not_report_are_estimated_for_the_limit(tmp_path: Path) -> None:
    call = {"index": 0, "id": "c", "function": {"name": "find", "arguments": '{"pattern": "*"}'}}
    replies = [answer(stream(chunk(tool_calls=[call]), chunk("tool_calls"))) for _ in range(8)]

    async def main() -> None:
        async with scripted_server(*replies) as server, open_engine(tmp_path) as scene:
            scene.engine.settings.change(providers=(Provider(name="box", url=server.url),))
            began = RunStarted("box/m", max_tokens=100, mode="auto")
            session = await scene.engine.start("Go.", scene.folder, began)
            await scene.engine.wait_idle(session)
            assert scene.status(session) == "limit" and scene.engine.session(session).tokens == 0
            assert sum(request.path.endswith("/chat/completions") for request in server.requests) == 1

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


def test_a_system_call_that_times_out_is_not_taken_for_the_time_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_to_lost_disk(_: object, text: str) -> None:
        raise TimeoutError(errno.ETIMEDOUT, "Connection timed out")

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            monkeypatch.setattr(PartialReply, "add", write_to_lost_disk)
            began = RunStarted("scripted", script=Text(scripted_replies(*[{"text": "a"}] * 3)), max_turns=3)
            session = await scene.engine.start("Go.", scene.folder, began)
            await scene.engine.wait_idle(session)
            requests = [event for event in await scene.events(session) if isinstance(event, RequestSent)]
            assert scene.status(session) == "failed" and len(requests) == 1
            assert [type(bug) for bug in scene.bugs] == [TimeoutError]

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
