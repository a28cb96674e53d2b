"""A replay makes the same entries as the session it plays, without a model, without effects."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.events import (
    Call,
    CallStarted,
    Entry,
    PersonSpoke,
    Replied,
    ReplyCut,
    RequestSent,
    Retried,
    RunEnded,
    RunEvent,
    RunStarted,
    ToolReturned,
)
from core.domain.problems import Problem, Trouble
from core.domain.question import Answer, QuestionAsked
from core.domain.text import Text
from core.engine.replay import Replayed, replay
from core.models.model import Delta, Fault, Request
from core.models.recorded import Outcome, Recorded, outcomes
from core.store.journal import Journal
from core.store.reader import Reader
from tests.core.engine.scenes import Scene, bounded, calling, opened, played
from tests.core.store.made import dump, write

ASK = calling("ask_user", question="Which?", options=[{"label": "A"}, {"label": "B"}])
FROM_OUTSIDE = {"session_opened", "person_spoke", "run_started", "sandbox_proven", "question_answered"}


async def at_once(entry: Entry) -> None:
    """No pace."""


async def play(home: Path, session: str) -> tuple[list[Entry], Replayed]:
    """Play a session of a home; what was heard, and what came of it."""
    folder = home / "replay"
    folder.mkdir()
    reader = Reader(home / "journeyman.db")
    heard: list[Entry] = []
    try:
        async with asyncio.timeout(20):
            done = await replay(reader, session, folder, lambda told: heard.append(told.entry), at_once)
    finally:
        reader.close()
    return heard, done


async def same_again(scene: Scene, home: Path, session: str) -> Replayed:
    """Play it, and compare entry by entry, then row by row."""
    heard, done = await play(home, session)
    recorded = [entry async for entry in scene.engine.entries(session)]
    for one, other in zip(heard, recorded, strict=True):
        assert one == other
    here, there = dump(home / "replay" / "journeyman.db"), dump(home / "journeyman.db")
    for table in ("step", "search"):  # those of sub-agents come after, and are records of their own
        assert here[table] == there[table][: len(here[table])]
    assert len(here["step"]) == len(scene.engine.steps(scene.engine.session(session)))
    return done


def test_a_replay_makes_the_same_entries_and_the_engine_makes_them(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            (scene.folder / "a.txt").write_text("one\ntwo\n")
            two = {"calls": [{"name": "read", "arguments": {"path": p}} for p in ("a.txt", "missing", "a.txt")]}
            script = played(
                {"text": "x" * 9000, "reasoning": "Let me see.", "usage": {"input": 9, "output": 3}, **two},
                calling("write", path="b.txt", content="y" * 9000),
                {"fault": "cut", "text": "Half a sen", "after_chars": 6},
                calling("run", command="echo hi > c.txt; cat c.txt; false"),
                calling("nothing_like_it"),
                ASK,
                {"text": "Done: {{answer}}"},
            )
            session = await scene.start(script)
            asked = await scene.until(QuestionAsked)
            assert isinstance(asked.event, QuestionAsked)
            await scene.engine.answer(asked.event.question.id, Answer(option="A"))
            await scene.engine.wait(session)
            (scene.folder / "b.txt").unlink()
            done = await same_again(scene, tmp_path, session)
            assert set(done.given) == FROM_OUTSIDE and not done.differing
            assert done.made["replied"] == 6 and done.made["retried"] == 1 and done.made["run_ended"] == 1
            assert not (scene.folder / "b.txt").exists()

    bounded(main())


def test_a_session_with_all_that_can_happen_plays_the_same(tmp_path: Path) -> None:
    """A compaction, a sub-agent with a question of its own, a consent given and one refused, a question."""
    helper = [ASK, calling("find", pattern="*.txt"), {"text": "The helper was told {{answer}}."}]
    long = {"text": "I think about what is to be done. " * 300}
    script = played(
        {**long, **calling("delegate", task="Ask them.")},
        {**long, **calling("write", path="b.txt", content="y")},
        {**long, **calling("write", path="c.txt", content="y")},
        {**long, **ASK},
        {**long, **calling("read", path="b.txt")},
        {"text": "Done: {{result}}"},
        window=9_000,
        roles={"agent:helper": helper, "summary": [{"text": "They thought long and asked, and wrote one file. " * 4}]},
    )

    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.start(script, mode="edits")
            await _answer_first(scene)
            ((_, write),) = await scene.when(scene.engine.consents)
            await scene.engine.allow(write.request.id)
            ((_, other),) = await scene.when(lambda: [c for c in scene.engine.consents() if c[1] != write])
            await scene.engine.deny(other.request.id, "Not this one.")
            await _answer_first(scene)
            await scene.engine.wait(session)
            assert scene.status(session) == "done" and not scene.bugs
            done = await same_again(scene, tmp_path, session)
            assert not done.differing and done.given["context_compacted"] >= 1
            made = ("delegated", "delegate_ended", "consent_asked", "question_asked", "replied", "run_ended")
            assert [done.made[kind] for kind in made] == [1, 1, 2, 1, 6, 1]

    bounded(main())


async def _answer_first(scene: Scene) -> None:
    ((_, question),) = await scene.when(scene.engine.questions)
    await scene.engine.answer(question.id, Answer(option="A"))


REPLIES: list[dict[str, Any]] = [
    {"text": "Some words."},
    {"text": "", "reasoning": "Only thoughts.", **calling("read", path="a.txt")},
    calling("read", path="missing.txt"),
    calling("write", path="b.txt", content="text"),
    calling("run", command="true"),
    calling("ask_user", question="Which?", options=[{"label": "A"}]),
    calling("unknown_tool", x=1),
    {"text": "Both.", "calls": [{"name": "read", "arguments": {"path": "a.txt"}}, {"name": "run", "arguments": "{}"}]},
    {"fault": "rate_limited"},
]


@settings(max_examples=12)
@given(replies=st.lists(st.sampled_from(REPLIES), max_size=6), rounds=st.sampled_from([0, 2]))
def test_a_replay_of_any_scripted_run_equals_it(
    tmp_path_factory: pytest.TempPathFactory, replies: list[dict[str, Any]], rounds: int
) -> None:
    tmp_path = tmp_path_factory.mktemp("replay")

    async def main() -> None:
        async with opened(tmp_path) as scene:
            (scene.folder / "a.txt").write_text("one\n")
            session = await scene.start(played(*replies), max_rounds=rounds)
            for _ in range(len(replies)):
                await scene.when(lambda: scene.engine.questions() or not scene.engine.going(session) or _ended(scene))
                for _, question in scene.engine.questions():
                    await scene.engine.answer(question.id, Answer(option="A"))
            await scene.engine.wait(session)
            done = await same_again(scene, tmp_path, session)
            assert set(done.given) <= FROM_OUTSIDE and not done.differing

    bounded(main())


def _ended(scene: Scene) -> bool:
    return any(isinstance(entry.event, RunEnded) for entry in scene.facts)


@pytest.mark.parametrize(
    ("script", "state"),
    [
        (played({"text": "one two three", "chunks": 3, "delay_s": 600}), RequestSent),
        (played(calling("run", command="sleep 600")), CallStarted),
        (played(ASK), QuestionAsked),
        (played({"fault": "rate_limited", "retry_after_s": 59}), Retried),
    ],
)
def test_a_run_that_was_stopped_and_gone_on_with_plays_the_same(tmp_path: Path, script: str, state: type[Any]) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.start(script)
            await scene.until(state)
            await scene.engine.stop(session)
            await scene.engine.say(session, "Once more.")
            await scene.until(state, 2)
            await scene.engine.say(session, "And hear this.")
            await scene.engine.stop(session)
            done = await same_again(scene, tmp_path, session)
            assert not done.differing

    bounded(main())


def left_by_a_crash(home: Path) -> str:
    """A session whose process was killed while a call ran."""
    script = played(calling("run", command="true"), {"text": "Done"})
    call = Call("r1c1", "run", Text('{"command": "true"}'))

    async def work(journal: Journal) -> str:
        (folder := home / "letters").mkdir()
        name = await journal.open(str(folder), "Cut")
        await journal.append(name, PersonSpoke(Text("Go.")), RunStarted("scripted", 60, Text(script), mode="trust"))
        await journal.append(name, RequestSent("scripted", 1), Replied(calls=(call,)))
        await journal.append(name, CallStarted("r1c1", "run", "command", "true"))
        return name

    return write(home / "journeyman.db", work)


@pytest.mark.parametrize("settle", ["again", "skip", "end"])
def test_a_run_that_a_crash_cut_plays_the_same(tmp_path: Path, settle: Any) -> None:
    async def main() -> None:
        session = await asyncio.to_thread(left_by_a_crash, tmp_path)
        async with opened(tmp_path) as scene:
            await scene.engine.resume(session, settle)
            await scene.engine.wait(session)
            done = await same_again(scene, tmp_path, session)
            assert not done.differing

    bounded(main())


def test_what_the_engine_would_write_otherwise_today_is_told(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.run(played(calling("read", path="a.txt"), {"text": "Done"}))
            facts = [(entry.at, entry.event) async for entry in scene.engine.entries(session)]
            place = next(i for i, (_, event) in enumerate(facts) if isinstance(event, CallStarted))
            facts[place] = (facts[place][0], CallStarted("r1c1", "read", "read", "as it was called in older days"))
            name = await scene.services.runs._journal.copy("older222", facts)
            heard, done = await play(tmp_path, name.session)
            assert [entry.event for entry in heard] == [event for _, event in facts]
            assert done.differing == [place + 1]

    bounded(main())


def test_a_recording_answers_requests_as_they_were_answered() -> None:
    told = Trouble("Too many.", "Wait.")
    events: list[RunEvent] = [
        RequestSent("m", 1), Replied(Text("one")), RequestSent("m", 2), ReplyCut(Text("tw"), "cut"), Retried(told, 1),
        RequestSent("m", 2), Replied(Text("two")), RequestSent("m", 3), RequestSent("m", 3), Replied(Text("three")),
        RequestSent("m", 4), RunEnded("failed", "Too many.", told), RequestSent("m", 5),
        ReplyCut(Text("fi"), "stopped"), RunEnded("stopped"), ToolReturned("x", Text("")), RequestSent("m", 6),
    ]  # fmt: skip
    assert list(outcomes(events)) == [
        Outcome(Replied(Text("one"))), Outcome(cut=Text("tw"), trouble=told, again=True), Outcome(Replied(Text("two"))),
        Outcome(), Outcome(Replied(Text("three"))), Outcome(trouble=told), Outcome(cut=Text("fi"), why="stopped"),
        Outcome(),
    ]  # fmt: skip


def test_a_recording_that_ends_says_so() -> None:
    async def main() -> None:
        model = Recorded(outcomes([RequestSent("m", 1), Replied(Text("one"))]), lambda text: text.head)
        assert [delta async for delta in model.stream(Request([]))] == [Delta("one", usage=Replied().usage)]
        with pytest.raises(Fault, match="ends here"):
            [delta async for delta in model.stream(Request([]))]

    asyncio.run(main())


def test_a_session_without_its_beginning_is_refused(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path):
            with pytest.raises(Problem, match="cannot be played"):
                await play(tmp_path, "nobody22")

    bounded(main())
