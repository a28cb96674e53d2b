"""Random session lifecycles: started, stepped, crashed, answered, resumed, stopped and messaged in any order."""

import asyncio
import shutil
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import strategies as st

from app.process.services import build_services
from core.domain.events import (
    CallStarted,
    ContextCompacted,
    EventRecord,
    Replied,
    RequestSent,
    RunEnded,
    RunStarted,
    UserMessage,
)
from core.domain.messages import Message
from core.domain.problems import Problem
from core.domain.question import Answer, QuestionAnswered, QuestionAsked
from core.engine.state.compaction import SUMMARY, USER
from core.engine.state.compaction_plan import message_groups
from core.engine.state.conversation import Conversation, fold_events
from core.engine.state.token_counts import message_tokens
from core.engine.state.unresolved_calls import UnresolvedCallsError
from core.store.codec import decode_event
from tests.core.engine.harness import EngineHarness, call_reply, crash, scripted_replies

T = TypeVar("T")
BOUND_S = 10.0
ACT = {"text": "I act.", **call_reply("run", command="echo {{result}}x >> effects; sleep 0.02; wc -l < effects")}
LONG = "I think about what I did, and about what is to be done. " * 40
ASK = call_reply("ask_user", question="Which?", options=[{"label": "A"}])
SCRIPTS = (
    scripted_replies(ACT, ACT, {"text": "done"}),
    scripted_replies(ACT, ASK, ACT, {"text": "{{answer}}"}),
    scripted_replies({"calls": [*ACT["calls"], *ASK["calls"], *ACT["calls"]]}, {"text": "done"}),
    scripted_replies(ASK, {"text": "{{answer}}"}),
    scripted_replies({"fault": "cut", "text": "half", "after_chars": 2}, ASK, {"text": "done"}),
    scripted_replies(*[{**ACT, "text": LONG}] * 3, ASK, {"text": "done"}, roles={"summary": [{"text": LONG}]}),
    scripted_replies(*[{**ACT, "text": LONG}] * 4, {"text": LONG}, roles={"summary": [{"fault": "cut", "text": "x"}]}),
)


class Lifecycle:
    """One session on a real database. The event loop runs only during a step, so a crash can hit at any event."""

    def __init__(self) -> None:
        self.runner = asyncio.Runner()
        self.place = Path(tempfile.mkdtemp())
        self.session = ""
        self.allowed = 0  # calls that the user chose to repeat after a crash
        self.heard: list[EventRecord] = []
        self.do(self._open())

    def do(self, work: Awaitable[T]) -> T:
        async def bounded() -> T:
            async with asyncio.timeout(BOUND_S):
                return await work

        return self.runner.run(bounded())

    async def _open(self) -> None:
        work = self.place / "work"
        work.mkdir(exist_ok=True)
        bugs: list[BaseException] = []
        self.scene = EngineHarness(await build_services(self.place, bugs.append), work, bugs)
        self.scene.log = self.heard

    @property
    def going(self) -> bool:
        return bool(self.session) and self.scene.engine.is_active(self.session)

    @property
    def status(self) -> str:
        return self.scene.status(self.session) if self.session else ""

    def start(self, script: str) -> None:
        self.session = self.do(self.scene.start(script))

    def step(self, facts: int, then_crash: bool) -> None:
        """Run until `facts` more events have been recorded, or the session waits for the user."""
        goal = len(self.heard) + facts
        self.do(self._until(lambda: len(self.heard) >= goal))
        if then_crash:
            self.crash()

    def crash_after_an_effect(self) -> None:
        before = sum(self._effects().values())
        self.do(self._until(lambda: sum(self._effects().values()) > before))
        self.crash()

    async def _until(self, condition: Callable[[], bool]) -> None:
        changed = asyncio.Event()
        while self.going and self.status != "waiting" and not condition():
            with suppress(TimeoutError):  # the effect is a file, which sends no notification
                await asyncio.wait_for(changed.wait(), 0.001)

    def crash(self) -> None:
        self.do(crash(self.scene))
        self.do(self._open())
        assert self.status != "running", "a crash left a run that appears to be running"

    def answer(self, twice: bool) -> None:
        for _, question in self.scene.engine.open_questions():
            tries = [self.scene.engine.answer(question.id, Answer("A")) for _ in range(1 + twice)]
            results = self.do(_all(tries))
            assert sum(result == self.session for result in results) == 1, "an answer did not count exactly once"

    def resume(self, settle: Any) -> None:
        doubted = self._talk().unresolved_calls()
        effects = self._effects()
        try:
            self.do(self.scene.engine.resume(self.session, settle))
        except UnresolvedCallsError:
            assert doubted and not settle
            assert effects == self._effects()
            return
        assert settle or not doubted, "a call was repeated unasked"
        self.allowed += len(doubted) * (settle == "retry")

    def stop(self) -> None:
        with suppress(Problem):  # it ended before it could be stopped
            self.do(self.scene.engine.stop(self.session))
        effects = self._effects()
        assert not self.going and self.status not in {"running", "waiting"}
        assert effects == self._effects()

    def pause(self) -> None:
        with suppress(Problem):  # it ended before it could be paused
            self.do(self.scene.engine.pause(self.session))

    def compact(self) -> None:
        """Request a compaction at any moment, even if nothing can be compacted."""
        with suppress(Problem):
            self.do(self.scene.engine.compact_context(self.session))
        assert not self.going or self.status != "failed", "a compaction ended the run"

    def fork(self) -> None:
        """Fork the session. The fork has the same messages, and the original is unchanged."""
        if self.going:
            return
        before = self._entries()
        other = self.do(self.scene.engine.history.fork(self.session))
        assert self._entries() == before, "a fork changed the original"
        raw = self.scene.services.reader.raw_events(other)
        copy = fold_events(
            [EventRecord(other, seq, run, at, decode_event(kind, said)) for seq, run, at, kind, said in raw]
        )
        mine = fold_events(before)
        assert [m.text for m in copy.messages][: len(mine.messages)] == [m.text for m in mine.messages], (
            "the fork differs from the original"
        )

    def say(self, times: int, now: bool) -> None:
        """Send messages, either queued for the next turn or interrupting the reply."""
        said = self.do(_all([self.scene.engine.send_message(self.session, f"word {n}", now=now) for n in range(times)]))
        assert not [each for each in said if each and not isinstance(each, Problem)], said

    def _effects(self) -> Counter[str]:
        file = self.place / "work" / "effects"
        return Counter(file.read_text().splitlines() if file.exists() else ())

    def _entries(self) -> list[EventRecord]:
        """Read all events while the event loop is not running, so that none is added meanwhile."""
        raw = self.scene.services.reader.raw_events(self.session)
        return [
            EventRecord(self.session, seq, run, at, decode_event(kind, payload)) for seq, run, at, kind, payload in raw
        ]

    def _talk(self) -> Conversation:
        return fold_events(self._entries())

    def check_event_log(self) -> None:
        entries = self._entries()
        assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
        by_seq = {entry.seq: entry for entry in entries}
        mine = [entry for entry in self.heard if entry.session == self.session]
        assert all(by_seq.get(entry.seq) == entry for entry in mine), "an event was published, but not stored"
        _once(entries)
        started = {e.event.call_id for e in entries if isinstance(e.event, CallStarted) and e.event.tool == "run"}
        assert sum(self._effects().values()) <= len(started) + self.allowed, (
            "a call was executed twice or without an event"
        )
        assert not self.scene.bugs, self.scene.bugs

    def end(self) -> None:
        try:
            if self.going:
                self.do(self._until(lambda: False))
            entries = self._entries()
            if self.status == "done":
                last = max(e.seq for e in entries if isinstance(e.event, UserMessage))
                assert any(
                    isinstance(e.event, RequestSent) and not e.event.purpose and e.seq > last for e in entries
                ), "a user message was lost"
            self.do(self.scene.services.close())
        finally:
            self.do(_end_the_rest())
            self.runner.close()
            shutil.rmtree(self.place)


def _once(entries: list[EventRecord]) -> None:
    """Check that questions are asked and answered once, runs end once, and each call has one result in time."""
    asked = [e.event.question.id for e in entries if isinstance(e.event, QuestionAsked)]
    answered = [e.event.question_id for e in entries if isinstance(e.event, QuestionAnswered)]
    assert len(set(asked)) == len(asked) and len(set(answered)) == len(answered) and set(answered) <= set(asked)
    open_runs = 0
    talk = Conversation()
    for entry in entries:
        before = list(talk.messages)
        talk.apply(entry)
        if isinstance(entry.event, ContextCompacted):
            _compacted(before, talk)
        open_runs += isinstance(entry.event, RunStarted) - isinstance(entry.event, RunEnded)
        assert open_runs in {0, 1}, "a run began twice or ended twice"
        if isinstance(entry.event, RequestSent) and not entry.event.purpose:
            calls = [call.id for message in talk.messages for call in message.calls]
            results = [message.call_id for message in talk.messages if message.role == "tool"]
            assert sorted(calls) == sorted(results), "a request went out before its results"
            _adds_up(entry.event, talk)
        if isinstance(entry.event, Replied):
            assert open_runs == 1


def _compacted(before: list[Message], talk: Conversation) -> None:
    """Check that a compaction keeps what it must, and that compacted results can be read back."""
    assert sum(message.category == SUMMARY for message in talk.messages) <= 1, "there are two summaries"
    assert talk.messages[0] == before[0], "the task was lost"
    last = before[message_groups(before)[-1].start]
    assert last in talk.messages, "the last exchange was lost"
    gone = [message for message in before if message not in talk.messages and message.role == "tool"]
    assert all(talk.compacted_calls.get(message.call_id) == message.seq for message in gone), (
        "a compacted result is unreadable"
    )


def _adds_up(sent: RequestSent, talk: Conversation) -> None:
    """Check the token counts of a request, except for messages that arrived while it was being recorded."""
    late = sum(message_tokens(message) for message in talk.messages if message.category == USER)
    said = sum(tokens for kind, tokens in sent.tokens.items() if kind not in {"system", "tools", USER})
    assert said == sum(map(message_tokens, talk.messages)) - late, "the token counts of the request do not add up"


Actions = list[tuple[int, int, bool, str]]


def actions(numbers: st.SearchStrategy[int]) -> st.SearchStrategy[Actions]:
    """Draw the sequence of actions of one lifecycle."""
    settled = st.sampled_from(["", "retry", "skip", "abort"])
    return st.lists(st.tuples(numbers, st.integers(0, 6), st.booleans(), settled), min_size=3, max_size=14)


ACTIONS = actions(st.integers(0, 29))


def play(script: str, wanted: Actions) -> None:
    """Play one lifecycle.

    The drawn values do not depend on timing: each number selects among the actions that are possible at the moment.
    """
    life = Lifecycle()
    try:
        life.start(script)
        life.check_event_log()
        for number, facts, flag, settle in wanted:
            possible: list[Callable[[], None]] = []
            if life.going:
                possible += [partial(life.step, facts, flag), life.crash_after_an_effect]
            if life.status == "waiting":
                possible.append(partial(life.answer, flag))
            if not life.going and life.status in {"interrupted", "waiting", "running"}:
                possible += [partial(life.resume, settle)] * 2
            if life.status in {"running", "waiting", "interrupted"}:
                possible.append(life.stop)
            if life.going:
                possible.append(life.pause)
            if life.status == "paused" and not life.going:  # the tool context is closed after the event
                possible += [partial(life.resume, settle), life.stop]
            if life.going or life.status in {"done", "stopped", "failed", "paused", "interrupted", "waiting"}:
                possible.append(partial(life.say, 1 + facts % 3, flag))
            possible += [life.compact] * 2 + [life.fork]
            possible[number % len(possible)]()
            life.check_event_log()
    finally:
        life.end()


async def _end_the_rest() -> None:
    """Cancel the tasks of runs that a planted bug has leaked."""
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)


async def _all(work: list[Any]) -> list[Any]:
    return await asyncio.gather(*work, return_exceptions=True)
