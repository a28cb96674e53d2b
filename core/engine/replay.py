"""Play a session again from its own journal: the engine works, but replies, results and answers are the recorded ones.

It plays in a data folder of its own, which is thrown away: in the person's, the copy would be found by every search,
counted in every figure, and have another name than what it repeats.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from core.domain.agents import AGENT
from core.domain.consent import Allowed, Asks, CallAllowed, ConsentAsked, ConsentGiven, Denied, Verdict
from core.domain.events import (
    Call,
    CallRefused,
    CallStarted,
    Entry,
    Replied,
    ReplyCut,
    RequestSent,
    Retried,
    RunEnded,
    RunEvent,
    RunInterrupted,
    RunPaused,
    RunResumed,
    RunStarted,
    SessionOpened,
    ToolReturned,
    kind_of,
)
from core.domain.ids import consent_id
from core.domain.problems import Problem
from core.domain.question import QuestionAsked
from core.domain.text import Text
from core.engine.conversation import Conversation
from core.engine.doubt import SKIPPED
from core.engine.drafts import Drafts
from core.engine.fork import CUT
from core.engine.loop import work
from core.engine.work import Work
from core.models.recorded import Recorded, outcomes
from core.store.codec import decode, pack
from core.store.database import Database
from core.store.journal import Journal, Listener
from core.store.opening import FILE
from core.store.reader import Reader
from core.tools.delegate import Delegate
from core.tools.place import Place, open_place
from core.tools.tool import Tool

Pace = Callable[[Entry], Awaitable[None]]
QUIET = 60  # turns of the event loop after which an engine that waits for nobody but us has said its next word
REQUEST = "request"
BLOBS = frozenset({"blob", "before", "after"})


@dataclass(slots=True)
class Replayed:
    """What came of it: facts the engine made again, and those that were given to it, by kind.

    `differing` are the entries that the engine would not write so today.
    """

    made: Counter[str] = field(default_factory=Counter)
    given: Counter[str] = field(default_factory=Counter)
    differing: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Offer:
    """Facts the engine wants to write, and its waiting for them."""

    events: list[RunEvent]
    written: "asyncio.Future[Entry]"


class _Stage(Journal):
    """The journal of the replay: what the engine wants to write waits until it is due."""

    def __init__(self, database: Database, reader: Reader) -> None:
        super().__init__(database, reader)
        self.offers: list[_Offer] = []
        self.closed = False

    def begin(
        self, session: str, *events: RunEvent, blobs: Mapping[str, bytes] | None = None
    ) -> "asyncio.Future[Entry]":
        if self.closed:
            raise asyncio.CancelledError
        offer = _Offer([pack(event).event for event in events], asyncio.get_running_loop().create_future())
        self.offers.append(offer)
        return offer.written


async def replay(reader: Reader, session: str, folder: Path, hear: Listener, pace: Pace) -> Replayed:
    """Play in `folder`, telling each fact to `hear` as it becomes durable there. `pace` waits before each."""
    entries = [Entry(session, seq, run, at, decode(kind, said)) for seq, run, at, kind, said in reader.raw(session)]
    if not entries or not isinstance(entries[0].event, SessionOpened):
        raise Problem("This session cannot be played.", "Its beginning is lost.", "Look at it with `journeyman show`.")
    database = Database(folder / FILE, synchronous="OFF")
    own = Reader(folder / FILE)
    place = open_place(folder, folder)  # nothing acts in it
    try:
        async with asyncio.TaskGroup() as tasks:
            return await _Player(entries, reader, _Stage(database, own), tasks, place).play(hear, pace)
    finally:
        await place.close()
        own.close()
        database.close()


class _Player:
    """Goes through the record: each fact is made by the engine where it can be, else given to it."""

    def __init__(
        self, entries: list[Entry], reader: Reader, stage: _Stage, tasks: asyncio.TaskGroup, place: Place
    ) -> None:
        self._entries = entries
        self._where = place
        self._reader = reader
        self._stage = stage
        self._tasks = tasks
        self._talk = Conversation()
        self._place = 0
        self._going = False
        self._task: asyncio.Task[None] | None = None
        self._done = Replayed()
        self._given: set[str] = set()  # calls and a request that the engine did not begin, so that it cannot end them

    async def play(self, hear: Listener, pace: Pace) -> Replayed:
        self._stage.listen(lambda told: self._talk.hear(told.entry))
        self._stage.listen(hear)
        try:
            for place, entry in enumerate(self._entries):
                await pace(entry)
                self._place = place
                await self._write(entry)
        finally:
            await self._cut()
        return self._done

    async def _write(self, entry: Entry) -> None:
        """The recorded fact becomes durable, whoever brought it. What the engine offered is settled with it."""
        event, kind = entry.event, kind_of(type(entry.event))
        offer = await self._made(entry)
        if offer is None and not self._foreign(event) and not self._follows(event):
            self._done.differing.append(entry.seq)
        if offer is None and _stops(event):
            await self._cut()
        blobs = {name: self._reader.blob(name) for name in blobs_of(event)}
        written = await self._stage.copy(
            entry.session, [(entry.at, event)], blobs={n: b for n, b in blobs.items() if b}
        )
        self._going = _going(self._going, event)
        if offer is None:
            self._done.given[kind] += 1
            self._given |= {REQUEST} if isinstance(event, RequestSent) else _call_of(event)
            return
        self._done.made[kind] += 1
        self._given -= {REQUEST} if isinstance(event, RequestSent) else _call_of(event)
        self._place += 1
        offer.events.pop(0)
        if not offer.events:
            self._stage.offers.remove(offer)
            offer.written.set_result(written)

    async def _made(self, entry: Entry) -> _Offer | None:
        """The engine's own word for this fact. One that took a wrong turn, for want of what came later, begins anew."""
        for _ in range(2):
            if offer := await self._offered(entry.event):
                return offer
            if self._foreign(entry.event):
                return None
            await self._cut()
        return None

    async def _offered(self, event: RunEvent) -> _Offer | None:
        if self._task is None and self._going and not self._foreign(event):
            self._start()
        for _ in range(QUIET):
            for offer in self._stage.offers:
                if same(offer.events[0], event):
                    return offer
            if self._task is None or self._task.done() or self._foreign(event):
                return None
            await asyncio.sleep(0)
        return None

    def _foreign(self, event: RunEvent) -> bool:
        """Did it come from elsewhere? Where an agent of others worked, everything did."""
        start = self._talk.start
        return from_outside(event) or (start is not None and start.model.startswith(AGENT))

    def _follows(self, event: RunEvent) -> bool:
        """Is this the end of something whose beginning was given?"""
        if isinstance(event, Replied | ReplyCut | Retried):
            return REQUEST in self._given
        return not isinstance(event, CallStarted) and bool(_call_of(event) & self._given)

    def _start(self) -> None:
        """Let the engine work from here on, as after a restart: all it knows is in the journal."""
        start = self._talk.start
        assert start is not None
        self._stage.closed = False
        coming = (entry.event for entry in self._entries[self._place :])
        run = Work(
            session=self._entries[0].session,
            place=self._where,
            model_name=start.model,
            model=Recorded(outcomes(coming), self._whole),
            talk=self._talk,
            journal=self._stage,
            reader=self._reader,
            drafts=Drafts(),
            attended=start.attended,
            judge=self._judge,
            expires=False,
            delegate=self._delegate,
            act=self._act,
            sleep=_at_once,
            compacts=False,
        )
        self._task = self._tasks.create_task(self._work(run))

    async def _work(self, run: Work) -> None:
        try:
            last: RunEvent = await work(run)
        except Problem as problem:
            last = RunEnded("failed", problem.trouble.what, problem.trouble)
        await self._stage.append(run.session, last)

    async def _cut(self) -> None:
        """End the engine's work without a word of it."""
        self._stage.closed = True
        self._stage.offers.clear()
        if self._task:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    async def _judge(self, run: Work, _tool: Tool, call: str, _parameters: Any) -> Verdict | None:
        """The verdict of then, which nobody is asked about again. None where the next thing is a person's word."""
        for event in self._coming():
            match event:
                case ConsentAsked(request=request, arguments=arguments) if request.call_id == call:
                    return Asks(request, self._whole(arguments))
                case CallAllowed(call_id=name, cause=cause, rule=rule) if name == call:
                    return Allowed(cause, rule)
                case CallRefused(call_id=name, reason=reason, rule=rule) if name == call:
                    return Denied(self._whole(reason), rule)
                case ConsentGiven(request_id=name) if name == consent_id(run.session, call):
                    return None
                case CallStarted(call_id=name) if name == call:
                    return None
        return None

    async def _act(
        self, tool: Tool, call: str, parameters: Any, _place: Place, _seen: dict[str, str]
    ) -> tuple[list[RunEvent], dict[str, bytes]]:
        """What the call did then. One that never returned does not return now either."""
        found: list[RunEvent] = []
        for event in self._coming():
            if call in _call_of(event) and not isinstance(event, CallAllowed | CallStarted):
                found.append(event)
            if isinstance(event, ToolReturned) and event.call_id == call:
                return found, {}
            if _stops(event):
                break
        await asyncio.get_running_loop().create_future()
        raise AssertionError

    async def _delegate(self, run: Work, call: Call, asked: Delegate) -> None:
        """What came of a sub-agent then. Its own session is another record."""
        events: list[RunEvent] = []
        for event in self._coming():
            if call.id in _call_of(event):
                events.append(event)
            if isinstance(event, ToolReturned | CallRefused) and event.call_id == call.id:
                break
            if _stops(event):
                break
        for each in events:
            await run.record(each)
        if call.id in run.talk.pending:  # it never returned, and does not return now either
            await asyncio.get_running_loop().create_future()

    def _coming(self) -> Iterator[RunEvent]:
        for place in range(self._place, len(self._entries)):
            yield self._entries[place].event

    def _whole(self, text: Text) -> str:
        return self._reader.blob(text.blob).decode("utf-8", "replace") if text.blob else text.head


def same(offered: RunEvent, recorded: RunEvent) -> bool:
    """Equal but for times, and how long a retry waited, which is chance. Whom a request went to and what it weighed
    was up to the settings of that day."""
    if isinstance(offered, Retried) and isinstance(recorded, Retried):
        return replace(offered, wait_s=recorded.wait_s) == recorded
    if isinstance(offered, RequestSent) and isinstance(recorded, RequestSent):
        return offered.round == recorded.round and not recorded.role
    return offered == recorded


def from_outside(event: RunEvent) -> bool:
    """Does this fact come from the person or from the world? What no line here names does."""
    match event:
        case RunEnded(status=status):
            return status == "stopped"
        case RunPaused(trouble=trouble):
            return trouble is None
        case RequestSent(role=role):
            return bool(role)
        case ToolReturned(output=output):
            return output in (SKIPPED, CUT)
        case QuestionAsked(question=question):
            return bool(question.server)
        case _:
            return kind_of(type(event)) not in MADE


def blobs_of(value: Any) -> Iterator[str]:
    """Every contents kept apart that a fact names."""
    if isinstance(value, tuple):
        for item in value:
            yield from blobs_of(item)
    elif is_dataclass(value):
        for part in fields(value):
            held = getattr(value, part.name)
            if part.name in BLOBS and isinstance(held, str) and held:
                yield held
            else:
                yield from blobs_of(held)


def _call_of(event: RunEvent) -> set[str]:
    return {getattr(event, "call_id", "")} - {""}


def _stops(event: RunEvent) -> bool:
    return isinstance(event, RunEnded | RunInterrupted | RunPaused)


def _going(before: bool, event: RunEvent) -> bool:
    return isinstance(event, RunStarted | RunResumed) or (before and not _stops(event))


async def _at_once(seconds: float) -> None:
    """A replay does not wait where the run had to."""


MADE = frozenset(
    {
        "request_sent",
        "replied",
        "reply_cut",
        "retried",
        "call_allowed",
        "call_started",
        "call_refused",
        "file_changed",
        "tool_returned",
        "delegated",
        "delegate_ended",
        "question_asked",
        "consent_asked",
        "decision_made",
        "problem_reported",
        "tainted",
        "limit_met",
        "limit_raised",
        "nudged",
        "run_paused",
        "run_ended",
    }
)
