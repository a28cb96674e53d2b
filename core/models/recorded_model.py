"""A model that replays the recorded replies and errors of an event log, without network or API key."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from dataclasses import dataclass

from core.domain.events import (
    Replied,
    ReplyInterrupted,
    RequestRetried,
    RequestSent,
    RunEnded,
    RunInterrupted,
    RunPaused,
    RunStarted,
    SessionEvent,
)
from core.domain.problems import ErrorDetails
from core.domain.text import Text
from core.models.model import ModelError, ReplyDelta, Request, RequestedCall
from core.models.retry import MAX_RETRY_AFTER_S

NO_RETRY_S = MAX_RETRY_AFTER_S * 1000  # longer than any accepted delay, so that the request is not retried


@dataclass(frozen=True, slots=True)
class RecordedOutcome:
    """The outcome of a request: a reply, an error, or an interruption by the user.

    Attributes:
        partial_text: the text that had arrived before an error or interruption.
        interruption_reason: why the request was interrupted.
        error: None for an interruption.
        retryable, retry_after_s: as in `ModelError`.
    """

    reply: Replied | None = None
    partial_text: Text = Text()
    interruption_reason: str = ""
    error: ErrorDetails | None = None
    retryable: bool = False
    retry_after_s: float = 0.0


def recorded_outcomes(events: Iterable[SessionEvent]) -> Iterator[RecordedOutcome]:
    """Yield the outcome of each request in order, reading only as many events as needed."""
    pending = False
    partial = Text()
    interruption_reason = ""
    for event in events:
        match event:
            case RequestSent(purpose=""):
                if pending:  # the user sent a message that interrupted the request
                    yield RecordedOutcome(partial_text=partial, interruption_reason=interruption_reason)
                pending = True
                partial = Text()
                interruption_reason = ""
            case ReplyInterrupted(text=text, reason=reason_text) if pending:
                partial, interruption_reason = text, reason_text
            case Replied() if pending:
                yield RecordedOutcome(reply=event)
                pending = False
            case RequestRetried(error=error) if pending:
                yield RecordedOutcome(partial_text=partial, error=error, retryable=True)
                pending = False
            case RunPaused(error=error) if pending:
                yield RecordedOutcome(partial_text=partial, error=error, retryable=True, retry_after_s=NO_RETRY_S)
                pending = False
            case RunEnded(status="failed", error=error) if pending:
                yield RecordedOutcome(partial_text=partial, error=error)
                pending = False
            case RunEnded() | RunInterrupted() | RunStarted() if pending:
                yield RecordedOutcome(partial_text=partial, interruption_reason=interruption_reason)
                pending = False
            case _:
                pass
    if pending:
        yield RecordedOutcome(partial_text=partial, interruption_reason=interruption_reason)


class RecordedModel:
    """Replays outcomes in order. `read_text` returns the full content of a text in the event log."""

    def __init__(self, outcomes: Iterator[RecordedOutcome], read_text: Callable[[Text], str], window: int = 0) -> None:
        self._outcomes = outcomes
        self._read_text = read_text
        self.window = window

    async def stream(self, request: Request) -> AsyncGenerator[ReplyDelta, None]:
        outcome = next(self._outcomes, None)
        if outcome is None:
            raise ModelError("The recording ends here.", "The event log contains no further reply.", retryable=False)
        if outcome.reply:
            yield self._delta(outcome.reply)
            return
        if outcome.partial_text.head:
            yield ReplyDelta(text=self._read_text(outcome.partial_text))
        if outcome.error is None:
            raise asyncio.CancelledError(outcome.interruption_reason)
        details = outcome.error
        # Without a kind, because what the engine did about it is recorded as well.
        error = ModelError(details.message, retryable=outcome.retryable, retry_after_s=outcome.retry_after_s)
        error.details = details
        raise error

    def _delta(self, reply: Replied) -> ReplyDelta:
        return ReplyDelta(
            text=self._read_text(reply.text),
            reasoning=self._read_text(reply.reasoning),
            calls=tuple(RequestedCall(call.tool, self._read_text(call.arguments)) for call in reply.calls),
            usage=reply.usage,
            stop_reason=reply.stop_reason,
            provider_state=self._read_text(reply.provider_state),
            note=reply.note,
            cost=reply.cost,
            written=self._read_text(reply.written),
        )
