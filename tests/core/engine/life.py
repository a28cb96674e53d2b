"""Lives a session can have: started, stepped, crashed, answered, resumed, stopped, spoken to, in any order."""

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

from app.assemble import assemble
from core.domain.events import (
    CallStarted,
    ContextCompacted,
    Entry,
    PersonSpoke,
    Replied,
    RequestSent,
    RunEnded,
    RunStarted,
)
from core.domain.messages import Message
from core.domain.problems import Problem
from core.domain.question import Answer, QuestionAnswered, QuestionAsked
from core.engine.compaction import PERSON, SUMMARY, units
from core.engine.conversation import Conversation, conversation
from core.engine.doubt import Doubt
from core.engine.weights import weight
from core.store.codec import decode
from tests.core.engine.scenes import Scene, calling, crash, played

T = TypeVar("T")
BOUND_S = 10.0
MEMORY = Path("/dev/shm")  # processes die here, not machines, so a sync proves nothing
ACT = {"text": "I act.", **calling("run", command="echo {{result}}x >> effects; sleep 0.02; wc -l < effects")}
LONG = "I think about what I did, and about what is to be done. " * 40
ASK = calling("ask_user", question="Which?", options=[{"label": "A"}])
SCRIPTS = (
    played(ACT, ACT, {"text": "done"}),
    played(ACT, ASK, ACT, {"text": "{{answer}}"}),
    played({"calls": [*ACT["calls"], *ASK["calls"], *ACT["calls"]]}, {"text": "done"}),
    played(ASK, {"text": "{{answer}}"}),
    played({"fault": "cut", "text": "half", "after_chars": 2}, ASK, {"text": "done"}),
    played(*[{**ACT, "text": LONG}] * 3, ASK, {"text": "done"}, roles={"summary": [{"text": LONG}]}),
    played(*[{**ACT, "text": LONG}] * 4, {"text": LONG}, roles={"summary": [{"fault": "cut", "text": "x"}]}),
)


class Life:
    """One session on a real file. The loop runs only within a rule, so a crash falls between any two facts."""

    def __init__(self) -> None:
        self.runner = asyncio.Runner()
        self.place = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
        self.session = ""
        self.allowed = 0  # acts that a person let happen once more
        self.heard: list[Entry] = []
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
        self.scene = Scene(await assemble(self.place, bugs.append), work, bugs)
        self.scene.facts = self.heard

    @property
    def going(self) -> bool:
        return bool(self.session) and self.scene.engine.going(self.session)

    @property
    def status(self) -> str:
        return self.scene.status(self.session) if self.session else ""

    def start(self, script: str) -> None:
        self.session = self.do(self.scene.start(script))

    def step(self, facts: int, then_crash: bool) -> None:
        """So many facts further, or to where it waits."""
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
            with suppress(TimeoutError):  # an effect is a file, which tells nobody
                await asyncio.wait_for(changed.wait(), 0.001)

    def crash(self) -> None:
        self.do(crash(self.scene))
        self.do(self._open())
        assert self.status != "running", "a crash left a run that looks as if it were going"

    def answer(self, twice: bool) -> None:
        for _, question in self.scene.engine.questions():
            tries = [self.scene.engine.answer(question.id, Answer("A")) for _ in range(1 + twice)]
            results = self.do(_all(tries))
            assert sum(result == self.session for result in results) == 1, "an answer counted other than once"

    def resume(self, settle: Any) -> None:
        doubted = self._talk().doubted()
        effects = self._effects()
        try:
            self.do(self.scene.engine.resume(self.session, settle))
        except Doubt:
            assert doubted and not settle
            assert effects == self._effects()
            return
        assert settle or not doubted, "acted again without a word"
        self.allowed += len(doubted) * (settle == "again")

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
        """By hand, at any moment. Where nothing can give way it says so."""
        with suppress(Problem):
            self.do(self.scene.engine.compact_context(self.session))
        assert not self.going or self.status != "failed", "a compaction ended the run"

    def fork(self) -> None:
        """A copy is sent what this one is sent, and this one stays as it was."""
        if self.going:
            return
        before = self._entries()
        other = self.do(self.scene.engine.history.fork(self.session))
        assert self._entries() == before, "a fork changed what it was made of"
        raw = self.scene.services.reader.raw(other)
        copy = conversation([Entry(other, seq, run, at, decode(kind, said)) for seq, run, at, kind, said in raw])
        mine = conversation(before)
        assert [m.text for m in copy.messages][: len(mine.messages)] == [m.text for m in mine.messages], (
            "a copy differs"
        )

    def say(self, times: int, now: bool) -> None:
        """Words for the next round, or at once."""
        said = self.do(_all([self.scene.engine.say(self.session, f"word {n}", now=now) for n in range(times)]))
        assert not [each for each in said if each and not isinstance(each, Problem)], said

    def _effects(self) -> Counter[str]:
        file = self.place / "work" / "effects"
        return Counter(file.read_text().splitlines() if file.exists() else ())

    def _entries(self) -> list[Entry]:
        """Read while the loop stands still, so that nothing more is told meanwhile."""
        raw = self.scene.services.reader.raw(self.session)
        return [Entry(self.session, seq, run, at, decode(kind, payload)) for seq, run, at, kind, payload in raw]

    def _talk(self) -> Conversation:
        return conversation(self._entries())

    def the_journal_is_whole(self) -> None:
        entries = self._entries()
        assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
        by_seq = {entry.seq: entry for entry in entries}
        mine = [entry for entry in self.heard if entry.session == self.session]
        assert all(by_seq.get(entry.seq) == entry for entry in mine), "told, and lost"
        _once(entries)
        started = {e.event.call_id for e in entries if isinstance(e.event, CallStarted) and e.event.tool == "run"}
        assert sum(self._effects().values()) <= len(started) + self.allowed, "acted twice, or without a fact"
        assert not self.scene.bugs, self.scene.bugs

    def end(self) -> None:
        try:
            if self.going:
                self.do(self._until(lambda: False))
            entries = self._entries()
            if self.status == "done":
                last = max(e.seq for e in entries if isinstance(e.event, PersonSpoke))
                assert any(isinstance(e.event, RequestSent) and not e.event.role and e.seq > last for e in entries), (
                    "words were lost"
                )
            self.do(self.scene.services.close())
        finally:
            self.do(_end_the_rest())
            self.runner.close()
            shutil.rmtree(self.place)


def _once(entries: list[Entry]) -> None:
    """Each question asked once and answered once, each run ended once, each call with its one result in time."""
    asked = [e.event.question.id for e in entries if isinstance(e.event, QuestionAsked)]
    answered = [e.event.question_id for e in entries if isinstance(e.event, QuestionAnswered)]
    assert len(set(asked)) == len(asked) and len(set(answered)) == len(answered) and set(answered) <= set(asked)
    open_runs = 0
    talk = Conversation()
    for entry in entries:
        before = list(talk.messages)
        talk.hear(entry)
        if isinstance(entry.event, ContextCompacted):
            _compacted(before, talk)
        open_runs += isinstance(entry.event, RunStarted) - isinstance(entry.event, RunEnded)
        assert open_runs in {0, 1}, "a run began twice or ended twice"
        if isinstance(entry.event, RequestSent) and not entry.event.role:
            calls = [call.id for message in talk.messages for call in message.calls]
            results = [message.call_id for message in talk.messages if message.role == "tool"]
            assert sorted(calls) == sorted(results), "a request went out before its results"
            _adds_up(entry.event, talk)
        if isinstance(entry.event, Replied):
            assert open_runs == 1


def _compacted(before: list[Message], talk: Conversation) -> None:
    """What matters stays, what gave way can be read back."""
    assert sum(message.kind == SUMMARY for message in talk.messages) <= 1, "there are two summaries"
    assert talk.messages[0] == before[0], "the task was lost"
    last = before[units(before)[-1].start]
    assert last in talk.messages, "the last exchange was lost"
    gone = [message for message in before if message not in talk.messages and message.role == "tool"]
    assert all(talk.dropped.get(message.call_id) == message.seq for message in gone), "it cannot be read back"


def _adds_up(sent: RequestSent, talk: Conversation) -> None:
    """The ledger, but for words that came while it was written down."""
    late = sum(weight(message) for message in talk.messages if message.kind == PERSON)
    said = sum(tokens for kind, tokens in sent.tokens.items() if kind not in {"system", "tools", PERSON})
    assert said == sum(map(weight, talk.messages)) - late, "the ledger does not add up"


Wishes = list[tuple[int, int, bool, str]]


def wishes(numbers: st.SearchStrategy[int]) -> st.SearchStrategy[Wishes]:
    """What is wished for in a life, one after the other."""
    settled = st.sampled_from(["", "again", "skip", "end"])
    return st.lists(st.tuples(numbers, st.integers(0, 6), st.booleans(), settled), min_size=3, max_size=14)


WISHES = wishes(st.integers(0, 29))


def live(script: str, wanted: Wishes) -> None:
    """One life. What is drawn does not depend on how fast the life goes: a number chooses among what is possible."""
    life = Life()
    try:
        life.start(script)
        life.the_journal_is_whole()
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
            if life.status == "paused" and not life.going:  # its place closes after the fact
                possible += [partial(life.resume, settle), life.stop]
            if life.going or life.status in {"done", "stopped", "failed", "paused", "interrupted", "waiting"}:
                possible.append(partial(life.say, 1 + facts % 3, flag))
            possible += [life.compact] * 2 + [life.fork]
            possible[number % len(possible)]()
            life.the_journal_is_whole()
    finally:
        life.end()


async def _end_the_rest() -> None:
    """Runs that a planted bug let nobody own any more."""
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)


async def _all(work: list[Any]) -> list[Any]:
    return await asyncio.gather(*work, return_exceptions=True)
