"""Reads the reply of a model while it streams, and records it."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import aclosing

from core.domain.events import Replied, ReplyInterrupted, ToolCall, Usage
from core.domain.text import Text
from core.engine.run.guards import run_timeout, time_is_up
from core.engine.run.reply_calls import calls_to_record
from core.engine.run.run_context import RunContext
from core.engine.run.text_calls import remember_written_calls
from core.engine.state.compaction import HARNESS
from core.engine.state.live_updates import LiveUpdate
from core.models.catalog import SCRIPTED
from core.models.model import Model, ModelError, ReplyDelta, RequestedCall, ToolSpec
from core.models.repetition import without_repetition
from core.models.stop_reasons import REPEATED
from core.models.written_call_reader import CallScreen
from core.store.partial_reply import PartialReply

EMPTY_REPLY = "The model returned an empty reply."
# Reasons recorded in `ReplyInterrupted` when no error of the provider interrupted the reply.
TIME_LIMIT_REASON = "the time of the run was over"
STOPPED_REASON = "stopped"


async def read_reply(run: RunContext, model: Model) -> None:
    """Read and record one reply. Return early if an urgent user message or the time limit interrupts the reply."""
    timeout = run_timeout(run)
    try:
        async with timeout as run.reading:
            await _stream_reply(run, model)
    except TimeoutError:
        if not timeout.expired():  # A hook or the file system has raised the TimeoutError.
            raise
    finally:
        run.reading = None


async def _stream_reply(run: RunContext, model: Model) -> None:
    """Stream a reply and publish each chunk. Record the reply, or the text received before an error or cancellation."""
    request = run.request()
    saved = PartialReply(run.tool_context.data, run.session)
    reply = _ArrivingReply(CallScreen(tool.name for tool in request.tools), saved)
    try:
        async with aclosing(model.stream(request)) as deltas:
            async for delta in deltas:
                if delta.activity:
                    run.live_updates.publish(LiveUpdate(run.session, activity=delta.activity))
                    continue
                visible_text = reply.add(delta)
                if visible_text or delta.reasoning:
                    run.live_updates.publish(LiveUpdate(run.session, visible_text, delta.reasoning))
    except ModelError as error:
        if reply.text:
            await _record_interruption(run, reply, error.details.message)
        raise
    except asyncio.CancelledError as error:
        recorded_reason = str(error)  # Only a replay cancels with a message, which is the recorded reason.
        reason = recorded_reason or (TIME_LIMIT_REASON if time_is_up(run) else STOPPED_REASON)
        # No other event records that the time limit interrupted a reply, so it is recorded even without text.
        if reply.text or recorded_reason or time_is_up(run):
            await _record_interruption(run, reply, reason)
        raise
    else:
        await _record_reply(run, reply, request.tools)
        reply.delete_saved()
    finally:
        run.live_updates.publish(LiveUpdate(run.session, ended=True))


async def _record_interruption(run: RunContext, reply: "_ArrivingReply", reason: str) -> None:
    await run.record(ReplyInterrupted(Text(reply.text), reason))
    reply.delete_saved()


async def _record_reply(run: RunContext, reply: "_ArrivingReply", offered: Sequence[ToolSpec]) -> None:
    """Record a complete reply and run the hooks for it. Raise ModelError if the reply is unexpectedly empty."""
    if reply.is_empty and _must_not_be_empty(run):
        why = "It returned only reasoning." if reply.reasoning else "It returned neither text nor tool calls."
        raise ModelError(EMPTY_REPLY, why, "Try again, or choose another model.", retryable=True, kind="empty")
    run.seal_reply()
    corrected = calls_to_record(run, reply.calls, offered)
    replied = reply.to_event(corrected.calls, corrected.note)
    new_tokens = replied.usage.input - replied.usage.cache_read
    run.note_prompt_speed(run.conversation.last_request.model, new_tokens, reply.first_token_s)
    await run.record(replied)
    remember_written_calls(run)
    await run.run_hooks("after_reply", text=replied.text.head, calls=[call.tool for call in replied.calls])


class _ArrivingReply:
    """The text, reasoning and calls of a reply that is being streamed, as far as they have arrived."""

    def __init__(self, screen: CallScreen, saved: PartialReply) -> None:
        self.calls: list[RequestedCall] = []
        self.first_token_s = 0.0
        self._screen = screen
        self._saved = saved
        self._sent_at = time.monotonic()
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._last = ReplyDelta()

    @property
    def text(self) -> str:
        return "".join(self._text)

    @property
    def reasoning(self) -> str:
        return "".join(self._reasoning)

    @property
    def is_empty(self) -> bool:
        """Whether the reply has neither text nor calls, and was not stopped because it repeated itself."""
        return not (self.text or self.calls) and self._last.stop_reason != REPEATED

    def add(self, delta: ReplyDelta) -> str:
        """Add a chunk of the reply. Return its text to show, without tool calls that the model wrote as text."""
        self.first_token_s = self.first_token_s or time.monotonic() - self._sent_at
        if delta.written:
            self._text.clear()
            self._saved.clear()
        self._text.append(delta.text)
        self._saved.add(delta.text)
        self._reasoning.append(delta.reasoning)
        self.calls += delta.calls
        self._last = self._last.merge(delta)
        return "" if delta.written else self._screen.feed(delta.text)

    def delete_saved(self) -> None:
        """Delete the copy on disk, because the event log now has the text."""
        self._saved.clear()

    def to_event(self, calls: tuple[ToolCall, ...], correction: str) -> Replied:
        """Return the event for the complete reply. `correction` is a note for the user about corrected calls, or ""."""
        last = self._last
        trim = without_repetition if last.stop_reason == REPEATED else str
        return Replied(
            text=Text(trim(self.text)),
            reasoning=Text(trim(self.reasoning)),
            calls=calls,
            usage=last.usage or Usage(),
            stop_reason=last.stop_reason,
            provider_state=Text(last.provider_state),
            note=" ".join(filter(None, (last.note, correction))),
            cost=last.cost,
            first_token_s=round(self.first_token_s, 3),
            written=Text(last.written),
        )


def _must_not_be_empty(run: RunContext) -> bool:
    """Return whether an empty reply would be an error: only directly after a message to the model.

    After tool results a model may have nothing to add, and a scripted model replies with nothing when its script has
    ended. With the compact prompt, an empty reply to a message of the harness is not an error either: a nudge says
    what is missing.
    """
    last = run.conversation.messages[-1]
    if run.has_compact_prompt and last.category == HARNESS:
        return False
    return last.role == "user" and run.conversation.last_request.model != SCRIPTED
