"""A fork starts with the events of another session, has nothing left open and continues independently."""

import asyncio
import sqlite3
from dataclasses import fields, replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.events import (
    EVENT_CLASSES,
    EventRecord,
    Replied,
    RunEnded,
    RunStarted,
    SessionCreated,
    SessionEvent,
    SessionForked,
    ToolReturned,
    UserMessage,
)
from core.domain.problems import Problem
from core.domain.question import Answer, QuestionAsked
from core.domain.sessions import SessionRow, fold_session
from core.domain.steps import OPEN_STATUSES, Outline, fold
from core.domain.text import Text
from core.engine.history.fork import CUT_RESULT, copy_event, fork_events
from core.engine.state.compaction import USER
from core.engine.state.conversation import Conversation, fold_events
from core.store.journal import Journal
from tests.core.domain.event_strategies import any_event, journals
from tests.core.engine.harness import EngineHarness, call_reply, open_engine, run_bounded, scripted_replies
from tests.core.store.made import journal_at
from tests.sessions import create_session

ASK = call_reply("ask_user", question="Which?", options=[{"label": "A"}, {"label": "B"}])
LONG = "word " * 2000


async def finished_session(scene: EngineHarness) -> str:
    """Run a session with a question, a long text, a failed call, a retry and two runs."""
    script = scripted_replies(
        {"text": LONG, **ASK},
        {"fault": "rate_limited"},
        call_reply("read", path="missing.txt"),
        call_reply("write", path="a.txt", content="one"),
        {"text": "Done: {{answer}}"},
    )
    session = await scene.start(script)
    asked = await scene.until(QuestionAsked)
    assert isinstance(asked.event, QuestionAsked)
    await scene.engine.answer(asked.event.question.id, Answer(option="A"))
    await scene.engine.wait_idle(session)
    await scene.engine.send_message(session, "Once more.")
    await scene.when(lambda: [e for e in scene.log if isinstance(e.event, QuestionAsked)][1:])
    await scene.engine.stop(session)
    return session


def test_a_fork_at_every_event_folds_and_continues(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await finished_session(scene)
            history = scene.engine.history
            before = [entry async for entry in scene.engine.events(session)]
            for seq in range(1, len(before) + 1):
                name = await history.fork(session, seq)
                made = [entry async for entry in scene.engine.events(name)]
                assert [(e.at, e.run, e.event) for e in made[1:seq]] == [
                    (e.at, e.run, copy_event(e.event, session, name)) for e in before[1:seq]
                ]
                assert made[seq].event == SessionForked(session, seq)
                row = scene.engine.session(name)
                assert row.status not in {"running", "waiting"} and row.forked_from == session
                assert all(step.status not in OPEN_STATUSES for step in scene.engine.timeline_steps(row))
                assert not fold_events(made).pending
                if fold_events(made).start:
                    await scene.engine.history.last_seq_of_step(name, 1) if row.steps else None
                    await scene.engine.send_message(name, "Go on.")
                    await scene.engine.stop(name)
            assert [entry async for entry in scene.engine.events(session)] == before
            assert not scene.bugs and not scene.engine.open_questions()

    run_bounded(main())


@settings(max_examples=60)
@given(journals(), st.data())
def test_a_fork_of_any_event_log_has_nothing_pending(entries: list[EventRecord], data: st.DataObject) -> None:
    seq = data.draw(st.integers(0, len(entries)))
    facts = fork_events(entries, "new", seq, "fork", 10**9)
    row, outline, talk = SessionRow("new"), Outline(), Conversation()
    for number, (at, event) in enumerate(facts, 1):
        entry = EventRecord("new", number, 1, at, event)
        row = fold_session(row, entry, fold(entry, outline), outline)
        talk.apply(entry)
    assert not talk.pending and row.status not in {"running", "waiting", "paused", "interrupted"}
    asked = [event for _, event in facts if isinstance(event, QuestionAsked)]
    assert all(event.question.id.startswith("new-") for event in asked)


def test_an_open_question_stays_open_in_the_original(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.start(scripted_replies(ASK, {"text": "Done: {{answer}}"}))
            asked = await scene.until(QuestionAsked)
            name = await scene.engine.history.fork(session, asked.seq)
            assert [(row.id, q.id) for row, q in scene.engine.open_questions()] == [(session, f"{session}-r1c1")]
            assert scene.status(name) == "stopped"
            await scene.engine.answer(f"{session}-r1c1", Answer(option="B"))
            await scene.engine.wait_idle(session)
            assert scene.status(session) == "done"

    run_bounded(main())


def test_a_running_call_is_not_recorded_as_ended(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(scripted_replies(call_reply("run", command="true"), {"text": "Done"}))
            started = next(e.seq for e in scene.log if type(e.event).__name__ == "CallStarted")
            name = await scene.engine.history.fork(session, started)
            events = await scene.events(name)
            assert events[-2] == ToolReturned("r1c1", CUT_RESULT, failed=True)
            assert isinstance(events[-1], RunEnded) and events[-1].status == "stopped"
            await scene.engine.send_message(name, "Look again.")
            await scene.engine.wait_idle(name)
            assert scene.status(name) == "done"
            assert [e.event.text.head for e in scene.log if isinstance(e.event, UserMessage)][-1] == "Look again."

    run_bounded(main())


def test_a_message_is_edited_and_sent_again(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(scripted_replies({"text": "First"}))
            await scene.engine.send_message(session, "Secnd")
            await scene.engine.wait_idle(session)
            spoken = [e for e in scene.log if isinstance(e.event, UserMessage)][-1]
            beginning = await scene.engine.history.edit(session, spoken.seq, "Second")
            name = beginning.session_id
            await scene.engine.history.start_fork(beginning)
            await scene.engine.wait_idle(name)
            words = [e.text.head for e in await scene.events(name) if isinstance(e, UserMessage)]
            assert words == ["Go.", "Second"] and scene.status(name) == "done"
            assert [e.text.head for e in await scene.events(session) if isinstance(e, UserMessage)] == ["Go.", "Secnd"]
            forked = next(e for e in await scene.events(name) if isinstance(e, SessionForked))
            assert forked == SessionForked(session, spoken.seq - 1, "edit")
            with pytest.raises(Problem, match="not a message of yours"):
                await scene.engine.history.edit(session, 1, "x")

    run_bounded(main())


def test_an_edited_message_goes_to_the_model_chosen_last(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(scripted_replies({"text": "First"}))
            await scene.engine.choose_model(session, "scripted", effort="high", max_output=900, temperature=0.5)
            spoken = next(e for e in scene.log if isinstance(e.event, UserMessage))
            for edit in (scene.engine.history.edit, scene.engine.history.edit_message):
                start = next(e for e in (await edit(session, spoken.seq, "Second")).events if isinstance(e, RunStarted))
                assert (start.effort, start.max_output_tokens, start.temperature) == ("high", 900, 0.5)
            again = next(
                e for e in (await scene.engine.history.fork_to_rerun(session, 0)).events if isinstance(e, RunStarted)
            )
            assert again.effort == "", "to compare two runs, both need the same options"

    run_bounded(main())


def test_another_model_repeats_the_task(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(scripted_replies({"text": "As the first would"}))
            beginning = await scene.engine.history.fork_to_rerun(
                session, 1, script=scripted_replies({"text": "As another would"})
            )
            name = beginning.session_id
            await scene.engine.history.start_fork(beginning)
            await scene.engine.wait_idle(name)
            events = await scene.events(name)
            assert [type(e) for e in events[:4]] == [SessionCreated, SessionForked, UserMessage, RunStarted]
            assert [e.text.head for e in events if isinstance(e, Replied)] == ["As another would"]
            with pytest.raises(Problem, match="no model"):
                await scene.engine.history.fork_to_rerun(session, 1, model="nobody")
            with pytest.raises(Problem, match="no run 7"):
                await scene.engine.history.fork_to_rerun(session, 7)
            assert len(scene.engine.sessions()) == 2

    run_bounded(main())


def rests(scene: EngineHarness, session: str) -> bool:
    return scene.status(session) in {"done", "waiting"}


def test_messages_edited_in_the_queue_are_copied_as_sent(tmp_path: Path) -> None:
    """Also if the session was pinned meanwhile: events refer to each other by number."""

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            history, queue = scene.engine.history, scene.engine.queue
            session = await scene.start(
                scripted_replies(call_reply("ask_user", question="Which?"), {"text": "Done"}, then="loop")
            )
            await scene.engine.archive.pin([session], True)
            await scene.when(lambda: scene.status(session) == "waiting")
            await scene.engine.send_message(session, "first thought")
            await scene.engine.send_message(session, "another")
            await scene.engine.stop(session)
            waits = [one.seq for one in await queue.list(session)]
            await queue.edit(session, waits[0], "second thought")
            await queue.remove(session, waits[1])
            await queue.send_now(session, waits[0])
            await scene.when(lambda: scene.status(session) == "waiting")
            await scene.engine.stop(session)
            told = await history.run_input(session, 2)
            assert [one.text.head for one in told.messages] == ["second thought"] and told.queued_seqs == (waits[0],)
            for beginning, words in (
                (await history.fork_to_rerun(session, 2, script=scripted_replies({"text": "Done"})), "second thought"),
                (await history.edit_run_message(session, 2, "third thought"), "third thought"),
            ):
                name = beginning.session_id
                await history.start_fork(beginning)
                await scene.when(partial(rests, scene, name))
                talk = await scene.services.runs.conversation(name)
                assert [one.text.head for one in talk.messages if one.category == USER] == ["Go.", words]
                assert not scene.engine.session(name).pinned
            await scene.engine.send_message(session, "Continue.")
            await scene.when(lambda: scene.status(session) == "waiting")
            await scene.engine.send_message(session, "first")
            await scene.engine.send_message(session, "second")
            await scene.engine.stop(session)
            queued = [message.seq for message in await queue.list(session)]
            await queue.send_now(session, queued[0])
            await scene.when(lambda: scene.engine.session(session).runs == 4 and scene.status(session) == "waiting")
            assert await history.run_of_message(session, queued[1]) == 4
            edited = await history.edit_message(session, queued[1], "third")
            await history.start_fork(edited)
            await scene.when(partial(rests, scene, edited.session_id))
            talk = await scene.services.runs.conversation(edited.session_id)
            assert [one.text.head for one in talk.messages if one.category == USER][-2:] == ["first", "third"]
            await scene.engine.stop(session)
            first = await history.edit_run_message(session, 1, "Go elsewhere.")
            await history.start_fork(first)
            await scene.when(lambda: scene.status(first.session_id) == "waiting")
            talk = await scene.services.runs.conversation(first.session_id)
            assert [one.text.head for one in talk.messages if one.category == USER] == ["Go elsewhere."]

    run_bounded(main())


def test_long_texts_are_shared_and_searchable(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(scripted_replies({"text": f"{LONG} needle"}))
            name = await scene.engine.history.fork(session)
            assert {hit.session for hit in await scene.engine.search("needle")} == {session, name}

    run_bounded(main())


def test_words_of_scripts_without_spaces_are_found(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(scripted_replies({"text": "明日の会議は東京で行われます。Bring the map."}))
            for number in range(300):
                await scene.engine.archive.rename(session, f"第{number}回会議の準備")
            for words in ("会議", "東京", "行われ", "東京 map", "ring 会議", "準備 会議", "会議 ma"):
                expected = [] if words.startswith("ring") else [session]
                assert list(dict.fromkeys(hit.session for hit in await scene.engine.search(words))) == expected, words
            (hit,) = await scene.engine.search("東京")
            assert "東京" in hit.text
            assert not await scene.engine.search("大阪")
            with pytest.raises(sqlite3.OperationalError, match="readonly"):
                scene.services.reader._db.execute("DELETE FROM event")

    run_bounded(main())


def test_words_of_other_scripts_are_found_inside_a_clause_without_spaces(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await scene.run(scripted_replies({"text": "我们使用Flask服务器。用Python和SQLite写的。"}))
            for words in ("Flask", "sqlite", "SQLi", "Python flask", "Flask 服务器"):
                assert [hit.session for hit in await scene.engine.search(words)] == [session], words
            (hit,) = await scene.engine.search("Python")
            assert "Python" in hit.text
            for part in ("lask", "ython 服务器", "Flas 服务器"):
                assert not await scene.engine.search(part), part

    run_bounded(main())


def test_a_long_session_is_forked_in_one_transaction(tmp_path: Path) -> None:
    """A fork is one transaction, so a crash leaves either the whole fork or nothing."""

    async def main(journal: Journal) -> None:
        session = await create_session(journal, "/tmp", "Long")
        await journal.append(session, *(UserMessage(Text(f"line {n}")) for n in range(3000)))
        entries = [entry async for entry in journal.read(session)]
        heard: list[EventRecord] = []
        journal.listen(lambda told: heard.append(told.entry))
        await journal.append_timed(
            "forked22", fork_events(entries, "forked22", 2000, "fork", entries[-1].at), silent_count=2000
        )
        assert [e.event for e in heard] == [SessionForked(session, 2000)]  # Copied events are not announced.
        made = [entry async for entry in journal.read("forked22")]
        assert [replace(e, session=session) for e in made[1:2000]] == entries[1:2000]

    with journal_at(tmp_path / "journeyman.db") as (journal, _, _):
        asyncio.run(main(journal))


# Fields that refer to something outside of the session, or that are unique only within it: a fork keeps them.
KEPT_IDS = {
    "agent_session_id", "call_id", "option_id", "proposal_id", "rule_id", "schedule_id", "setting_id",
}  # fmt: skip
QUESTION_FIELDS = {"question", "question_id", "request", "request_id"}


@pytest.mark.parametrize("kind", EVENT_CLASSES.values(), ids=EVENT_CLASSES)
@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_a_fork_never_refers_to_a_question_of_its_origin(kind: type[SessionEvent], data: st.DataObject) -> None:
    """An answer in the origin must not count in the fork, whichever class of event refers to the question."""
    event = data.draw(any_event([kind]))
    copied = copy_event(event, "s", "forked")
    for field in fields(kind):
        if field.name in QUESTION_FIELDS:
            value = getattr(copied, field.name)
            assert getattr(value, "id", value).startswith("forked-")
        elif field.name == "session_id":
            assert getattr(copied, field.name) == "forked"
        else:
            assert not field.name.endswith("_id") or field.name in KEPT_IDS, f"does a fork keep {field.name}?"
