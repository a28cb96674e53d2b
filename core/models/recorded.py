"""A model that answers from a journal: every request ends as it ended once. No network, no key."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from dataclasses import dataclass

from core.domain.events import (
    Replied,
    ReplyCut,
    RequestSent,
    Retried,
    RunEnded,
    RunEvent,
    RunInterrupted,
    RunPaused,
    RunStarted,
)
from core.domain.problems import Trouble
from core.domain.text import Text
from core.models.model import Asked, Delta, Fault, Request
from core.models.retry import PATIENCE_S

FOR_EVER_S = PATIENCE_S * 1000  # longer than any wait: the request was not made again


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a request ended: with a reply, with a fault, or cut by a person, after the words that had arrived."""

    reply: Replied | None = None
    cut: Text = Text()
    why: str = ""
    trouble: Trouble | None = None
    again: bool = False
    after_s: float = 0.0


def outcomes(events: Iterable[RunEvent]) -> Iterator[Outcome]:
    """One for each request, in order; lazily, so that a long journal is not walked for its first."""
    asked, cut, why = False, Text(), ""
    for event in events:
        match event:
            case RequestSent(role=""):
                if asked:  # words sent now cut it before any arrived
                    yield Outcome(cut=cut, why=why)
                asked, cut, why = True, Text(), ""
            case ReplyCut(text=text, why=told) if asked:
                cut, why = text, told
            case Replied() if asked:
                yield Outcome(reply=event)
                asked = False
            case Retried(trouble=trouble) if asked:
                yield Outcome(cut=cut, trouble=trouble, again=True)
                asked = False
            case RunPaused(trouble=trouble) if asked:
                yield Outcome(cut=cut, trouble=trouble, again=True, after_s=FOR_EVER_S)
                asked = False
            case RunEnded(status="failed", trouble=trouble) if asked:
                yield Outcome(cut=cut, trouble=trouble)
                asked = False
            case RunEnded() | RunInterrupted() | RunStarted() if asked:
                yield Outcome(cut=cut, why=why)
                asked = False
            case _:
                pass
    if asked:
        yield Outcome(cut=cut, why=why)


class Recorded:
    """Plays outcomes in order. `whole` gives a text of the journal in full."""

    def __init__(self, played: Iterator[Outcome], whole: Callable[[Text], str]) -> None:
        self._played = played
        self._whole = whole
        self.window = 0

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        outcome = next(self._played, None)
        if outcome is None:
            raise Fault("The recording ends here.", "No reply follows in the journal.", again=False)
        if outcome.reply:
            yield self._delta(outcome.reply)
            return
        if outcome.cut.head:
            yield Delta(text=self._whole(outcome.cut))
        if outcome.trouble is None:
            raise asyncio.CancelledError(outcome.why)
        told = outcome.trouble
        raise Fault(told.what, told.why, told.do, again=outcome.again, after_s=outcome.after_s)

    def _delta(self, reply: Replied) -> Delta:
        return Delta(
            self._whole(reply.text),
            self._whole(reply.reasoning),
            tuple(Asked(call.tool, self._whole(call.arguments)) for call in reply.calls),
            reply.usage,
            reply.stop,
            self._whole(reply.carry),
            reply.note,
            reply.cost,
        )
