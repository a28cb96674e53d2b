"""A fork begins with the facts of another session, is closed honestly and goes on by itself."""

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.events import (
    Entry,
    PersonSpoke,
    Replied,
    RunEnded,
    RunStarted,
    SessionForked,
    SessionOpened,
    ToolReturned,
)
from core.domain.problems import Problem
from core.domain.question import Answer, QuestionAsked
from core.domain.sessions import SessionRow, fold_session
from core.domain.steps import OPEN, Outline, fold
from core.domain.text import Text
from core.engine.conversation import Conversation, conversation
from core.engine.fork import CUT, copied, fork_facts
from core.store.journal import Journal
from tests.core.domain.facts import journals
from tests.core.engine.scenes import Scene, bounded, calling, opened, played
from tests.core.store.made import journal_at

ASK = calling("ask_user", question="Which?", options=[{"label": "A"}, {"label": "B"}])
LONG = "word " * 2000


async def worked(scene: Scene) -> str:
    """A session with a question, a long text, a failed call, a retry and two runs."""
    script = played(
        {"text": LONG, **ASK},
        {"fault": "rate_limited"},
        calling("read", path="missing.txt"),
        calling("write", path="a.txt", content="one"),
        {"text": "Done: {{answer}}"},
    )
    session = await scene.start(script)
    asked = await scene.until(QuestionAsked)
    assert isinstance(asked.event, QuestionAsked)
    await scene.engine.answer(asked.event.question.id, Answer(option="A"))
    await scene.engine.wait(session)
    await scene.engine.say(session, "Once more.")
    await scene.when(lambda: [e for e in scene.facts if isinstance(e.event, QuestionAsked)][1:])
    await scene.engine.stop(session)
    return session


def test_a_fork_at_every_fact_folds_and_goes_on(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await worked(scene)
            history = scene.engine.history
            before = [entry async for entry in scene.engine.entries(session)]
            for seq in range(1, len(before) + 1):
                name = await history.fork(session, seq)
                made = [entry async for entry in scene.engine.entries(name)]
                assert [(e.at, e.run, e.event) for e in made[1:seq]] == [
                    (e.at, e.run, copied(e.event, session, name)) for e in before[1:seq]
                ]
                assert made[seq].event == SessionForked(session, seq)
                row = scene.engine.session(name)
                assert row.status not in {"running", "waiting"} and row.origin == session
                assert all(step.status not in OPEN for step in scene.engine.steps(row))
                assert not conversation(made).pending
                if conversation(made).start:
                    await scene.engine.history.at_step(name, 1) if row.steps else None
                    await scene.engine.say(name, "Go on.")
                    await scene.engine.stop(name)
            assert [entry async for entry in scene.engine.entries(session)] == before
            assert not scene.bugs and not scene.engine.questions()

    bounded(main())


@settings(max_examples=60)
@given(journals(), st.data())
def test_a_fork_of_any_journal_owes_nothing(entries: list[Entry], data: st.DataObject) -> None:
    seq = data.draw(st.integers(0, len(entries)))
    facts = fork_facts(entries, "new", seq, "fork", 10**9)
    row, outline, talk = SessionRow("new"), Outline(), Conversation()
    for number, (at, event) in enumerate(facts, 1):
        entry = Entry("new", number, 1, at, event)
        row = fold_session(row, entry, fold(entry, outline), outline)
        talk.hear(entry)
    assert not talk.pending and row.status not in {"running", "waiting", "paused", "interrupted"}
    asked = [event for _, event in facts if isinstance(event, QuestionAsked)]
    assert all(event.question.id.startswith("new-") for event in asked)


def test_an_open_question_stays_open_where_it_was_asked(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.start(played(ASK, {"text": "Done: {{answer}}"}))
            asked = await scene.until(QuestionAsked)
            name = await scene.engine.history.fork(session, asked.seq)
            assert [(row.id, q.id) for row, q in scene.engine.questions()] == [(session, f"{session}-r1c1")]
            assert scene.status(name) == "stopped"
            await scene.engine.answer(f"{session}-r1c1", Answer(option="B"))
            await scene.engine.wait(session)
            assert scene.status(session) == "done"

    bounded(main())


def test_a_call_that_was_running_is_not_said_to_have_ended(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.run(played(calling("run", command="true"), {"text": "Done"}))
            started = next(e.seq for e in scene.facts if type(e.event).__name__ == "CallStarted")
            name = await scene.engine.history.fork(session, started)
            events = await scene.events(name)
            assert events[-2] == ToolReturned("r1c1", CUT, failed=True)
            assert isinstance(events[-1], RunEnded) and events[-1].status == "stopped"
            await scene.engine.say(name, "Look again.")
            await scene.engine.wait(name)
            assert scene.status(name) == "done"
            assert [e.event.text.head for e in scene.facts if isinstance(e.event, PersonSpoke)][-1] == "Look again."

    bounded(main())


def test_a_message_is_sent_again_in_other_words(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.run(played({"text": "First"}))
            await scene.engine.say(session, "Secnd")
            await scene.engine.wait(session)
            spoken = [e for e in scene.facts if isinstance(e.event, PersonSpoke)][-1]
            beginning = await scene.engine.history.edit(session, spoken.seq, "Second")
            name = beginning.session
            await scene.engine.history.begin(beginning)
            await scene.engine.wait(name)
            words = [e.text.head for e in await scene.events(name) if isinstance(e, PersonSpoke)]
            assert words == ["Go.", "Second"] and scene.status(name) == "done"
            assert [e.text.head for e in await scene.events(session) if isinstance(e, PersonSpoke)] == ["Go.", "Secnd"]
            forked = next(e for e in await scene.events(name) if isinstance(e, SessionForked))
            assert forked == SessionForked(session, spoken.seq - 1, "edit")
            with pytest.raises(Problem, match="no message of yours"):
                await scene.engine.history.edit(session, 1, "x")

    bounded(main())


def test_another_model_does_the_same_task(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.run(played({"text": "As the first would"}))
            beginning = await scene.engine.history.again(session, 1, script=played({"text": "As another would"}))
            name = beginning.session
            await scene.engine.history.begin(beginning)
            await scene.engine.wait(name)
            events = await scene.events(name)
            assert [type(e) for e in events[:4]] == [SessionOpened, SessionForked, PersonSpoke, RunStarted]
            assert [e.text.head for e in events if isinstance(e, Replied)] == ["As another would"]
            with pytest.raises(Problem, match="no model"):
                await scene.engine.history.again(session, 1, model="nobody")
            with pytest.raises(Problem, match="no run 7"):
                await scene.engine.history.again(session, 7)
            assert len(scene.engine.sessions()) == 2

    bounded(main())


def rests(scene: Scene, session: str) -> bool:
    return scene.status(session) in {"done", "waiting"}


def test_words_that_were_changed_while_they_waited_are_told_as_they_were_sent(tmp_path: Path) -> None:
    """Also where the session was pinned meanwhile: entries name each other by their numbers."""

    async def main() -> None:
        async with opened(tmp_path) as scene:
            history, queue = scene.engine.history, scene.engine.queue
            session = await scene.start(played(calling("ask_user", question="Which?"), {"text": "Done"}, then="loop"))
            await scene.engine.shelf.pin([session], True)
            await scene.when(lambda: scene.status(session) == "waiting")
            await scene.engine.say(session, "first thought")
            await scene.engine.say(session, "another")
            await scene.engine.stop(session)
            waits = [one.entry for one in await queue.list(session)]
            await queue.edit(session, waits[0], "second thought")
            await queue.remove(session, waits[1])
            await queue.send_now(session, waits[0])
            await scene.when(lambda: scene.status(session) == "waiting")
            await scene.engine.stop(session)
            told = await history.told(session, 2)
            assert [one.text.head for one in told.words] == ["second thought"] and told.waited == (waits[0],)
            for beginning, words in (
                (await history.again(session, 2, script=played({"text": "Done"})), "second thought"),
                (await history.instead(session, 2, "third thought"), "third thought"),
            ):
                name = beginning.session
                await history.begin(beginning)
                await scene.when(partial(rests, scene, name))
                talk = await scene.services.runs.talk(name)
                assert [one.text.head for one in talk.messages if one.role == "user"] == ["Go.", words]
                assert not scene.engine.session(name).pinned
            first = await history.instead(session, 1, "Go elsewhere.")
            await history.begin(first)
            await scene.when(lambda: scene.status(first.session) == "waiting")
            talk = await scene.services.runs.talk(first.session)
            assert [one.text.head for one in talk.messages if one.role == "user"] == ["Go elsewhere."]

    bounded(main())


def test_long_texts_are_shared_and_found(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            session = await scene.run(played({"text": f"{LONG} needle"}))
            name = await scene.engine.history.fork(session)
            assert {hit.session for hit in await scene.engine.find("needle")} == {session, name}

    bounded(main())


def test_a_long_session_is_forked_in_one_piece(tmp_path: Path) -> None:
    """A crash leaves the whole fork or nothing of it: one transaction."""

    async def main(journal: Journal) -> None:
        session = await journal.open("/tmp", "Long")
        await journal.append(session, *(PersonSpoke(Text(f"line {n}")) for n in range(3000)))
        entries = [entry async for entry in journal.read(session)]
        heard: list[Entry] = []
        journal.listen(lambda told: heard.append(told.entry))
        await journal.copy("forked22", fork_facts(entries, "forked22", 2000, "fork", entries[-1].at), quiet=2000)
        assert [e.event for e in heard] == [SessionForked(session, 2000)]  # what happened elsewhere is no news
        made = [entry async for entry in journal.read("forked22")]
        assert [replace(e, session=session) for e in made[1:2000]] == entries[1:2000]

    with journal_at(tmp_path / "journeyman.db") as (journal, _, _):
        asyncio.run(main(journal))
