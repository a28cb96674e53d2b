"""A replay produces the same events as its session, without a model and without side effects."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.events import (
    CallStarted,
    EventRecord,
    Replied,
    ReplyInterrupted,
    RequestRetried,
    RequestSent,
    RunEnded,
    RunStarted,
    SessionEvent,
    ToolCall,
    ToolReturned,
    UserMessage,
)
from core.domain.problems import ErrorDetails, Problem
from core.domain.question import Answer, QuestionAsked
from core.domain.text import Text
from core.engine.history.replay import ReplayResult, replay_session
from core.models.model import ModelError, ReplyDelta, Request
from core.models.recorded_model import RecordedModel, RecordedOutcome, recorded_outcomes
from core.store.journal import Journal
from core.store.reader import Reader
from tests.core.engine.harness import EngineHarness, call_reply, open_engine, run_bounded, scripted_replies
from tests.core.store.made import dump, write
from tests.sessions import create_session

ASK = call_reply("ask_user", question="Which?", options=[{"label": "A"}, {"label": "B"}])
FROM_OUTSIDE = {"session_created", "user_message", "run_started", "sandbox_tested", "question_answered"}


async def no_delay(entry: EventRecord) -> None:
    """Do not pace the replay."""


async def replay(home: Path, session: str) -> tuple[list[EventRecord], ReplayResult]:
    """Replay a session of a data folder. Return the events received and the result."""
    folder = home / "replay"
    folder.mkdir()
    reader = Reader(home / "journeyman.db")
    heard: list[EventRecord] = []
    try:
        async with asyncio.timeout(20):
            done = await replay_session(reader, session, folder, lambda told: heard.append(told.entry), no_delay)
    finally:
        reader.close()
    return heard, done


async def same_again(scene: EngineHarness, home: Path, session: str) -> ReplayResult:
    """Replay the session and compare event by event, then row by row."""
    heard, done = await replay(home, session)
    recorded = [entry async for entry in scene.engine.events(session)]
    for one, other in zip(heard, recorded, strict=True):
        assert one == other
    here, there = dump(home / "replay" / "journeyman.db"), dump(home / "journeyman.db")
    for table in ("step", "search"):  # Rows of sub-agents come later and belong to their own sessions.
        assert here[table] == there[table][: len(here[table])]
    assert len(here["step"]) == len(scene.engine.timeline_steps(scene.engine.session(session)))
    return done


def test_a_replay_produces_the_same_events_through_the_engine(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            (scene.folder / "a.txt").write_text("one\ntwo\n")
            two = {"calls": [{"name": "read", "arguments": {"path": p}} for p in ("a.txt", "missing", "a.txt")]}
            script = scripted_replies(
                {"text": "x" * 9000, "reasoning": "Let me see.", "usage": {"input": 9, "output": 3}, **two},
                call_reply("write", path="b.txt", content="y" * 9000),
                {"fault": "cut", "text": "Half a sen", "after_chars": 6},
                call_reply("run", command="echo hi > c.txt; cat c.txt; false"),
                call_reply("nothing_like_it"),
                ASK,
                {"text": "Done: {{answer}}"},
            )
            session = await scene.start(script)
            asked = await scene.until(QuestionAsked)
            assert isinstance(asked.event, QuestionAsked)
            await scene.engine.answer(asked.event.question.id, Answer(option="A"))
            await scene.engine.wait_idle(session)
            (scene.folder / "b.txt").unlink()
            done = await same_again(scene, tmp_path, session)
            assert set(done.injected) == FROM_OUTSIDE and not done.differing
            assert (
                done.regenerated["replied"] == 6
                and done.regenerated["request_retried"] == 1
                and done.regenerated["run_ended"] == 1
            )
            assert not (scene.folder / "b.txt").exists()

    run_bounded(main())


def test_a_session_with_every_feature_replays_identically(tmp_path: Path) -> None:
    """A compaction, a sub-agent with a question of its own, a permission granted and one denied, and a question."""
    helper = [ASK, call_reply("find", pattern="*.txt"), {"text": "The helper was told {{answer}}."}]
    long = {"text": "I think about what is to be done. " * 300}
    script = scripted_replies(
        {**long, **call_reply("delegate", task="Ask them.")},
        {**long, **call_reply("write", path="b.txt", content="y")},
        {**long, **call_reply("write", path="c.txt", content="y")},
        {**long, **ASK},
        {**long, **call_reply("read", path="b.txt")},
        {"text": "Done: {{result}}"},
        window=9_000,
        roles={"agent:helper": helper, "summary": [{"text": "They thought long and asked, and wrote one file. " * 4}]},
    )

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.start(script, mode="ask")
            await _answer_first(scene)
            ((_, write),) = await scene.when(scene.engine.permission_requests)
            await scene.engine.allow(write.request.id)
            ((_, other),) = await scene.when(lambda: [c for c in scene.engine.permission_requests() if c[1] != write])
            await scene.engine.deny(other.request.id, "Not this one.")
            await _answer_first(scene)
            await scene.engine.wait_idle(session)
            assert scene.status(session) == "done" and not scene.bugs
            done = await same_again(scene, tmp_path, session)
            assert not done.differing and done.injected["context_compacted"] >= 1
            made = (
                "subagent_started",
                "subagent_ended",
                "permission_requested",
                "question_asked",
                "replied",
                "run_ended",
            )
            assert [done.regenerated[kind] for kind in made] == [1, 1, 2, 1, 6, 1]

    run_bounded(main())


async def _answer_first(scene: EngineHarness) -> None:
    ((_, question),) = await scene.when(scene.engine.open_questions)
    await scene.engine.answer(question.id, Answer(option="A"))


REPLIES: list[dict[str, Any]] = [
    {"text": "Some words."},
    {"text": "", "reasoning": "Only thoughts.", **call_reply("read", path="a.txt")},
    call_reply("read", path="missing.txt"),
    call_reply("write", path="b.txt", content="text"),
    call_reply("run", command="true"),
    call_reply("ask_user", question="Which?", options=[{"label": "A"}]),
    call_reply("unknown_tool", x=1),
    {"text": "Both.", "calls": [{"name": "read", "arguments": {"path": "a.txt"}}, {"name": "run", "arguments": "{}"}]},
    {"fault": "rate_limited"},
]


@settings(max_examples=12)
@given(replies=st.lists(st.sampled_from(REPLIES), max_size=6), turns=st.sampled_from([0, 2]))
def test_a_replay_of_any_scripted_run_equals_it(
    tmp_path_factory: pytest.TempPathFactory, replies: list[dict[str, Any]], turns: int
) -> None:
    tmp_path = tmp_path_factory.mktemp("replay")

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            (scene.folder / "a.txt").write_text("one\n")
            session = await scene.start(scripted_replies(*replies), max_turns=turns)
            for _ in range(len(replies)):
                await scene.when(
                    lambda: scene.engine.open_questions() or not scene.engine.is_active(session) or _ended(scene)
                )
                for _, question in scene.engine.open_questions():
                    await scene.engine.answer(question.id, Answer(option="A"))
            await scene.engine.wait_idle(session)
            done = await same_again(scene, tmp_path, session)
            assert set(done.injected) <= FROM_OUTSIDE and not done.differing

    run_bounded(main())


def _ended(scene: EngineHarness) -> bool:
    return any(isinstance(entry.event, RunEnded) for entry in scene.log)


@pytest.mark.parametrize(
    ("script", "state"),
    [
        (scripted_replies({"text": "one two three", "chunks": 3, "delay_s": 600}), RequestSent),
        (scripted_replies(call_reply("run", command="sleep 600")), CallStarted),
        (scripted_replies(ASK), QuestionAsked),
        (scripted_replies({"fault": "rate_limited", "retry_after_s": 59}), RequestRetried),
    ],
)
def test_a_stopped_and_resumed_run_replays_identically(tmp_path: Path, script: str, state: type[Any]) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.start(script)
            await scene.until(state)
            await scene.engine.stop(session)
            await scene.engine.send_message(session, "Once more.")
            await scene.until(state, 2)
            await scene.engine.send_message(session, "And hear this.")
            await scene.engine.stop(session)
            done = await same_again(scene, tmp_path, session)
            assert not done.differing

    run_bounded(main())


def interrupted_session(home: Path) -> str:
    """Create a session whose process was killed while a call was running."""
    script = scripted_replies(call_reply("run", command="true"), {"text": "Done"})
    call = ToolCall("r1c1", "run", Text('{"command": "true"}'))

    async def work(journal: Journal) -> str:
        (folder := home / "letters").mkdir()
        name = await create_session(journal, str(folder), "Cut")
        await journal.append(name, UserMessage(Text("Go.")), RunStarted("scripted", 60, Text(script), mode="auto"))
        await journal.append(name, RequestSent("scripted", 1), Replied(calls=(call,)))
        await journal.append(name, CallStarted("r1c1", "run", "command", "true"))
        return name

    return write(home / "journeyman.db", work)


@pytest.mark.parametrize("settle", ["retry", "skip", "abort"])
def test_a_run_interrupted_by_a_crash_replays_identically(tmp_path: Path, settle: Any) -> None:
    async def main() -> None:
        session = await asyncio.to_thread(interrupted_session, tmp_path)
        async with open_engine(tmp_path) as scene:
            await scene.engine.resume(session, settle)
            await scene.engine.wait_idle(session)
            done = await same_again(scene, tmp_path, session)
            assert not done.differing

    run_bounded(main())


def test_events_the_engine_would_write_differently_are_reported(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(scripted_replies(call_reply("read", path="a.txt"), {"text": "Done"}))
            facts = [(entry.at, entry.event) async for entry in scene.engine.events(session)]
            place = next(i for i, (_, event) in enumerate(facts) if isinstance(event, CallStarted))
            facts[place] = (facts[place][0], CallStarted("r1c1", "read", "read", "as it was called in older days"))
            name = await scene.services.runs._journal.append_timed("older222", facts)
            heard, done = await replay(tmp_path, name.session)
            assert [entry.event for entry in heard] == [event for _, event in facts]
            assert done.differing == [place + 1]

    run_bounded(main())


def test_a_recording_answers_requests_as_they_were_answered() -> None:
    told = ErrorDetails("Too many.", "Wait.")
    events: list[SessionEvent] = [
        RequestSent("m", 1),
        Replied(Text("one")),
        RequestSent("m", 2),
        ReplyInterrupted(Text("tw"), "cut"),
        RequestRetried(told, 1),
        RequestSent("m", 2),
        Replied(Text("two")),
        RequestSent("m", 3),
        RequestSent("m", 3),
        Replied(Text("three")),
        RequestSent("m", 4),
        RunEnded("failed", "Too many.", told),
        RequestSent("m", 5),
        ReplyInterrupted(Text("fi"), "stopped"),
        RunEnded("stopped"),
        ToolReturned("x", Text("")),
        RequestSent("m", 6),
    ]
    assert list(recorded_outcomes(events)) == [
        RecordedOutcome(Replied(Text("one"))),
        RecordedOutcome(partial_text=Text("tw"), error=told, retryable=True),
        RecordedOutcome(Replied(Text("two"))),
        RecordedOutcome(),
        RecordedOutcome(Replied(Text("three"))),
        RecordedOutcome(error=told),
        RecordedOutcome(partial_text=Text("fi"), interruption_reason="stopped"),
        RecordedOutcome(),
    ]


def test_the_end_of_a_recording_is_reported() -> None:
    async def main() -> None:
        model = RecordedModel(recorded_outcomes([RequestSent("m", 1), Replied(Text("one"))]), lambda text: text.head)
        assert [delta async for delta in model.stream(Request([]))] == [ReplyDelta("one", usage=Replied().usage)]
        with pytest.raises(ModelError, match="ends here"):
            [delta async for delta in model.stream(Request([]))]

    asyncio.run(main())


def test_a_session_without_its_first_event_is_refused(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path):
            with pytest.raises(Problem, match="cannot be replayed"):
                await replay(tmp_path, "nobody22")

    run_bounded(main())
