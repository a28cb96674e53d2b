"""Sub-agents: a call that begins a session of its own, waits for its end and hands back what came of it."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from core.domain.events import (
    Call,
    CallRefused,
    CallStarted,
    Delegated,
    DelegateEnded,
    Nudged,
    RunEnded,
    RunEvent,
    RunStarted,
    SessionOpened,
    Tainted,
    ToolReturned,
)
from core.domain.ids import session_id
from core.domain.problems import Problem
from core.domain.steps import line
from core.domain.text import Text
from core.engine.conversation import Conversation
from core.engine.doubt import GOES_ON, Settle
from core.engine.limits import FIELDS
from core.engine.work import SENT_BACK, Work
from core.store.journal import Journal
from core.store.reader import Reader
from core.store.told import Told
from core.tools.delegate import DEEPEST, NAME, Caps, Delegate, called, row
from core.tools.shape import misfits, value_in, wrong_schema

WITH_PARENT = "stopped with the run that began it"
MISFIT = "its reply does not fit the shape that was asked for"


class Begin(Protocol):
    """Open a session under a name that is fixed already, and let its run go."""

    async def __call__(self, name: str, opened: SessionOpened, task: str, began: RunStarted) -> None: ...


@dataclass(frozen=True, slots=True)
class Children:
    """Begins, continues and ends the sessions of sub-agents. `closing` tells whether Journeyman itself ends."""

    journal: Journal
    reader: Reader
    check: Callable[[RunStarted], object]
    begin: Begin
    resume: Callable[[str, Settle], Awaitable[None]]
    stop: Callable[[str, str], Awaitable[None]]
    going: Callable[[str], bool]
    closing: Callable[[], bool]

    async def delegate(self, run: Work, call: Call, asked: Delegate) -> None:
        """The call, to its one result. After a restart the session that it began is taken up again."""
        child = run.talk.children.get(call.id, "")
        try:
            began = await self._planned(run, asked) if not self._known(child) else None
        except Problem as problem:
            await run.record(CallRefused(call.id, NAME, Text(str(problem))))
            return
        facts: list[RunEvent] = [CallStarted(call.id, NAME, NAME, row(asked))]
        if not child:
            child = session_id()
            facts.append(Delegated(call.id, child, called(asked), Text(asked.task)))
        await run.record(*facts)
        async with run.seats:
            try:
                await self._work(run, call, asked, child, began)
                facts = await self._outcome(run, call, child)
            except asyncio.CancelledError:
                if not self.closing():
                    await self._end(child)
                    cut = ToolReturned(call.id, Text("[stopped before it was done]"), failed=True)
                    await run.record(*await self._taints(call, child), cut)
                raise
            except Problem as problem:  # it could not be begun or taken up
                facts = [*await self._taints(call, child), ToolReturned(call.id, Text(str(problem)), failed=True)]
        await run.record(*facts)

    def root(self, session: str) -> str:
        """The session whose going on lets this one go on: of a sub-agent the one that waits for it."""
        row = self.reader.session(session)
        above = self.reader.session(row.parent) if row and row.parent else None
        return self.root(above.id) if above and above.status in GOES_ON else session

    def _known(self, child: str) -> bool:
        return bool(child) and self.reader.session(child) is not None

    async def _planned(self, run: Work, asked: Delegate) -> RunStarted:
        """How the child is started; a Problem says why it may not be."""
        start, here = run.talk.start, self.reader.session(run.session)
        assert start is not None and here is not None
        if here.depth >= DEEPEST:
            raise Problem("Sub-agents go no deeper here.", f"This one is {DEEPEST} deep already.", "Do it yourself.")
        if asked.schema is not None and (why := wrong_schema(asked.schema)):
            raise Problem("The schema cannot be used.", f"{why}.", "Correct it, or ask for words.")
        mine = start.tools
        if strange := sorted(set(asked.tools) - set(mine)) if mine else []:
            raise Problem(f"You have no tool {', '.join(strange)} to give away.", "", f"You have: {', '.join(mine)}.")
        began = replace(
            start,
            model=asked.model or start.model,
            agent=asked.agent or start.agent,
            tools=_tools(asked.tools or mine, here.depth + 1),
            attended=False,  # at a limit it ends and reports; whether to go on is the parent's question
            system=Text(),
            boundary="",
            taint=tuple(run.talk.rights.taint),
            guides=(),
            role=called(asked),
            schema=Text(json.dumps(asked.schema, ensure_ascii=False)) if asked.schema is not None else Text(),
            **shares(run.talk, asked.limits),
        )
        self.check(began)
        return began

    async def _work(self, run: Work, call: Call, asked: Delegate, child: str, began: RunStarted | None) -> None:
        """Until the child has ended, whoever stops, pauses or resumes it meanwhile."""
        ended = asyncio.Event()

        def hear(told: Told) -> None:
            if told.entry.session == child and isinstance(told.entry.event, RunEnded):
                ended.set()

        forget = self.journal.listen(hear)
        try:
            if began is not None:
                here = self.reader.session(run.session)
                assert here is not None
                opened = SessionOpened(
                    child, here.folder, line(asked.task), run.session, call.id, called(asked), here.depth + 1
                )
                await self.begin(child, opened, asked.task, began)
            elif self._status(child) in GOES_ON and not self.going(child):
                await self.resume(child, run.settle)
            if self._status(child) in GOES_ON:
                await ended.wait()
        finally:
            forget()

    def _status(self, child: str) -> str:
        found = self.reader.session(child)
        return found.status if found else ""

    async def _end(self, child: str) -> None:
        """Nothing of the child goes on without its parent."""
        if self._known(child) and self._status(child) in GOES_ON:
            await self.stop(child, WITH_PARENT)

    async def _outcome(self, run: Work, call: Call, child: str) -> list[RunEvent]:
        """What the child used, what taints it, and what it said."""
        talk, last = Conversation(), RunEnded("failed")
        async for entry in self.journal.read(child):
            talk.hear(entry)
            if isinstance(entry.event, RunEnded):
                last = entry.event
        spent = talk.spent
        used = DelegateEnded(
            call.id,
            child,
            last.status,
            int(spent.get("rounds", 0)),
            int(spent.get("tokens", 0)),
            spent.get("cost", 0.0),
            spent.get("minutes", 0.0),
        )
        said = ToolReturned(call.id, Text(_said(run, talk, last)), last.status != "completed")
        return [used, *await self._taints(call, child), said]

    async def _taints(self, call: Call, child: str) -> list[RunEvent]:
        """Strangers whose words the child has read: what it wrote may be theirs, however it ended."""
        entries = [entry async for entry in self.journal.read(child)]
        sources = dict.fromkeys(entry.event.source for entry in entries if isinstance(entry.event, Tainted))
        return [Tainted(call.id, source) for source in sources]


def shares(talk: Conversation, asked: Caps) -> dict[str, Any]:
    """The limits of a child: what was asked for, and never more than its share of what the parent has left."""
    sharing = max(1, sum(call.tool == NAME for call in talk.pending.values()))
    found: dict[str, Any] = {}
    for limit, name in FIELDS.items():
        wanted, most = getattr(asked, limit), talk.allowed.get(limit, 0.0)
        left = most if limit == "rounds" else (most - talk.spent.get(limit, 0.0)) / sharing
        if most and left <= 0:
            raise Problem(f"There is nothing left of {most:g} {limit}.", "", "Finish with what you have.")
        given = min(wanted or left, left) if most else wanted
        found[name] = max(1, int(given)) if given and limit in ("rounds", "tokens") else given
    return found


def _tools(names: tuple[str, ...], depth: int) -> tuple[str, ...]:
    """The deepest ones have nobody to give work to."""
    return tuple(name for name in names if name != NAME or depth < DEEPEST)


def _said(run: Work, talk: Conversation, last: RunEnded) -> str:
    """The last reply; of one that did not come to its end also why."""
    reply = next((m.text for m in reversed(talk.messages) if m.role == "assistant" and m.text.head), Text())
    said = run.whole(reply)
    if last.status == "completed":
        return said or "[It ended without a word.]"
    why = f"[The sub-agent did not finish: {last.status}{': ' + last.reason if last.reason else ''}.]"
    return f"{why}\n{said}" if said else why


async def check_shape(run: Work) -> RunEnded | None:
    """Where a shape was asked for, a reply that does not fit it is sent back once, and then fails the run."""
    start, talk = run.talk.start, run.talk
    if start is None or not start.schema.head:
        return None
    schema = json.loads(run.whole(start.schema))
    reply = next((m.text for m in reversed(talk.messages) if m.role == "assistant"), Text())
    try:
        wrong = misfits(value_in(run.whole(reply)), schema)
    except ValueError as error:
        wrong = [f"it is no JSON: {error}"]
    if not wrong:
        return None
    if any(message.role == "user" and message.text.head.startswith(SENT_BACK) for message in talk.messages):
        return RunEnded("failed", f"{MISFIT}: {wrong[0]}", summary=Text(run.said()))
    told = "; ".join(wrong[:5])
    await run.record(Nudged(Text(f"{SENT_BACK}: {told}. Reply again, the JSON only.]"), MISFIT))
    return None
