"""Before a call does anything: it is allowed, a person is asked and waited for, or it is refused."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from core.domain.consent import Allowed, Asks, CallAllowed, ConsentAsked, ConsentGiven, Denied, ModeSet, Verdict, stale
from core.domain.events import Call, CallRefused, Entry, RunEvent
from core.domain.ids import consent_id
from core.domain.text import Text
from core.engine.work import Work
from core.store.told import Told
from core.tools.place import UNSAID, Word
from core.tools.tool import Tool

Judging = Callable[[], Awaitable[Verdict | None]]

NO = "The person did not allow this."
INSTEAD = "Do it another way, or ask what they want instead."
CHANGED = "What was allowed is not what would run now: something it was judged by has changed. Call again to ask again."


@dataclass(frozen=True, slots=True)
class Permitted:
    """`facts` are recorded with the start of the call; `word` is what was said of it."""

    facts: tuple[RunEvent, ...] = ()
    word: Word = UNSAID


@dataclass(frozen=True, slots=True)
class _Judged:
    """A call that may be judged again: modes, rules and what was read change while a person thinks."""

    run: Work
    tool: Tool
    call: Call
    parameters: Any

    @property
    def name(self) -> str:
        """Of the request to a person."""
        return consent_id(self.run.session, self.call.id)

    async def now(self) -> Verdict | None:
        return await self.run.judge(self.run, self.tool, self.call.id, self.parameters)

    def refused(self, reason: str, rule: str = "") -> CallRefused:
        return CallRefused(self.call.id, self.tool.name, Text(reason), rule)


async def permission(run: Work, tool: Tool, call: Call, parameters: Any) -> Permitted | CallRefused:
    """What becomes of the call. One that was asked about before a crash or a change of mode is found so."""
    judged = _Judged(run, tool, call, parameters)
    verdict = await judged.now()
    if isinstance(verdict, Asks) or judged.name in run.talk.rights.requests:
        given = await word(run, judged.name, verdict, judged.now)
        return await _after(judged, given) if given.allowed else judged.refused(_no(given))
    match verdict:
        case Allowed(cause=cause, rule=rule, argv=argv):
            return Permitted((CallAllowed(call.id, cause, rule),), Word(argv=argv))
        case Denied(reason=reason, rule=rule):
            return judged.refused(reason, rule)
        case None:
            return Permitted()


async def word(run: Work, name: str, verdict: Verdict | None, now: Judging) -> ConsentGiven:
    """Ask unless asked already, then wait until the word is in the journal, whoever wrote it; `now` judges anew."""
    heard = asyncio.Event()

    def hear(told: Told) -> None:
        if _stirs(told.entry, run.session, name):
            heard.set()

    forget = run.journal.listen(hear)
    try:
        if isinstance(verdict, Asks) and name not in run.talk.rights.requests:
            request = verdict.request
            asked = ConsentAsked(request, Text(verdict.arguments))
            await run.put(asked, name, f"{request.tool}: {request.object}", request.tool)
        while (given := run.talk.rights.given.get(name)) is None:
            heard.clear()
            await _speak(run, name, await now())
            if name not in run.talk.rights.given:
                run.looked.add(name)
                await heard.wait()
    finally:
        forget()
    return given


def _stirs(entry: Entry, session: str, name: str) -> bool:
    """Does this fact decide the request, or may it: another mode, a rule that somebody made elsewhere?"""
    event = entry.event
    if isinstance(event, ConsentGiven):
        return event.request_id == name or bool(event.rules)
    return isinstance(event, ModeSet) and entry.session == session


async def _speak(run: Work, name: str, verdict: Verdict | None) -> None:
    """A mode or a rule that decides it by now speaks for the person; not while one is speaking."""
    if verdict is None or isinstance(verdict, Asks) or name in run.claimed:
        return
    run.claimed.add(name)
    try:
        if isinstance(verdict, Allowed):
            await run.record(ConsentGiven(name, True, by=verdict.cause))
        else:
            await run.record(ConsentGiven(name, False, reason=Text(verdict.reason), by="Journeyman"))
    finally:
        run.claimed.discard(name)


async def _after(judged: _Judged, given: ConsentGiven) -> Permitted | CallRefused:
    """A yes counts for what was shown, and never against a rule that denies."""
    verdict = await judged.now()
    match verdict:
        case Denied(reason=reason, rule=rule):
            return judged.refused(reason, rule)
        case Asks(request=request):
            if stale(judged.run.talk.rights.requests[judged.name], request):
                return judged.refused(CHANGED)
            return Permitted(word=Word(opens=request.opens, unconfined=True))
        case Allowed(argv=argv):
            return Permitted(word=Word(argv=argv))
        case None:
            return Permitted()


def _no(given: ConsentGiven) -> str:
    """What the model reads of a no."""
    if given.by != "person":
        return given.reason.head
    return f"{NO} They say: {given.reason.head}" if given.reason.head else f"{NO} {INSTEAD}"
