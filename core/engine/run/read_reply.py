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
TIME_LIMIT_REASON = "the time of the run was over"  # the reason of a ReplyInterrupted


async def read_reply(run: RunContext, model: Model) -> None:
    """Read one reply. An urgent message or the time limit interrupts only the reading, not the run."""
    try:
        async with run_timeout(run) as run.reading:
            await _stream_reply(run, model)
    except TimeoutError:
        return
    finally:
        run.reading = None


async def _stream_reply(run: RunContext, model: Model) -> None:
    """Stream a reply and publish each chunk. Record the complete reply, or on failure the part that had arrived."""
    request = run.request()
    saved = PartialReply(run.tool_context.data, run.session)
    saved.clear()
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
    except (ModelError, asyncio.CancelledError) as error:
        why = error.details.message if isinstance(error, ModelError) else _why_cut(run, error)
        if reply.text or why == TIME_LIMIT_REASON:  # No other event records that the time limit interrupted a reply.
            await run.record(ReplyInterrupted(Text(reply.text), why))
            saved.clear()
        raise
    else:
        await _record_reply(run, reply, request.tools)
        saved.clear()
    finally:
        run.live_updates.publish(LiveUpdate(run.session, ended=True))


async def _record_reply(run: RunContext, reply: "_ArrivingReply", offered: Sequence[ToolSpec]) -> None:
    """Record a complete reply. Raise ModelError if it is empty and must not be."""
    if reply.is_empty and _owes_words(run):
        why = "It returned only reasoning." if reply.reasoning else "It returned neither text nor tool calls."
        raise ModelError(EMPTY_REPLY, why, "Try again, or choose another model.", retryable=True, kind="empty")
    run.seal_reply()
    calls, correction = calls_to_record(run, reply.calls, offered)
    replied = reply.to_event(calls, correction)
    new_tokens = replied.usage.input - replied.usage.cache_read
    run.note_prompt_speed(run.conversation.last_request[0], new_tokens, reply.first_token_s)
    await run.record(replied)
    remember_written_calls(run)
    await run.run_hooks("after_reply", text=replied.text.head, calls=[call.tool for call in calls])


class _ArrivingReply:
    """The parts of a reply that have arrived."""

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
        """Whether it has neither text nor calls, and was not stopped because it repeated itself."""
        return not (self.text or self.calls) and self._last.stop_reason != REPEATED

    def add(self, delta: ReplyDelta) -> str:
        """Add a part and return its text without calls that are written into it."""
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

    def to_event(self, calls: tuple[ToolCall, ...], correction: str) -> Replied:
        last = self._last
        trim = without_repetition if last.stop_reason == REPEATED else str
        return Replied(
            Text(trim(self.text)),
            Text(trim(self.reasoning)),
            calls,
            last.usage or Usage(),
            last.stop_reason,
            Text(last.provider_state),
            " ".join(filter(None, (last.note, correction))),
            last.cost,
            round(self.first_token_s, 3),
            Text(last.written),
        )


def _why_cut(run: RunContext, error: BaseException) -> str:
    """Return why a reply was interrupted. In a replay, the recorded reason is the message of the exception."""
    return str(error) or (TIME_LIMIT_REASON if time_is_up(run) else "stopped")


def _owes_words(run: RunContext) -> bool:
    """Return whether an empty reply is an error: only directly after a user message, and not from a scripted model.

    After tool results a model may have nothing to add, and a scripted model replies with nothing after its script ends.
    A small model that has nothing to say to the engine gets a nudge instead.
    """
    last = run.conversation.messages[-1]
    if run.has_compact_prompt and last.category == HARNESS:
        return False
    return last.role == "user" and run.conversation.last_request[0] != SCRIPTED
