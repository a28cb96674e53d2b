"""Text that is being streamed: replies and command output that are not in the event log yet."""

import json
from collections.abc import Iterable
from typing import NamedTuple

from core.domain.events import (
    BackgroundCommandEnded,
    Replied,
    ReplyInterrupted,
    RunEnded,
    RunInterrupted,
    RunPaused,
    SessionEvent,
    ToolCall,
    ToolReturned,
)
from core.engine.state.live_updates import LiveUpdate
from core.store.journal_update import JournalUpdate

MAX_OUTPUT_BYTES = 256 * 1024  # bytes kept of the output of each running command, counted from its end
TAIL_BYTES = 16 * 1024  # bytes at the end of an output in which its last lines are searched
TAIL_LINES = 12
REASONING_CHARS = 600  # characters shown of the reasoning in progress, counted from its end
MAX_REPLY_CHARS = 256 * 1024  # characters kept of a reply in progress, because a faulty provider could stream forever


class PrintedOutput:
    """The last output of a running command, and the number of bytes that it has printed in total."""

    def __init__(self) -> None:
        self.size = 0
        self._bytes = bytearray()

    def append(self, output: bytes) -> None:
        self._bytes += output
        self.size += len(output)
        if len(self._bytes) > 2 * MAX_OUTPUT_BYTES:
            del self._bytes[:-MAX_OUTPUT_BYTES]

    def since(self, position: int) -> bytes:
        """Return the output after the first `position` bytes, except the part that has been discarded."""
        return bytes(self._bytes[max(0, position - (self.size - len(self._bytes))) :])


class CallKey(NamedTuple):
    """A tool call; the IDs of calls are unique only within a session."""

    session: str
    call: str


class RecentOutput(NamedTuple):
    """How many bytes a running call has printed in all, and the most recent part of them."""

    size: int
    output: bytes


class LiveOutput:
    """The reply and reasoning in progress of each session, and the recent output of each running tool call."""

    def __init__(self) -> None:
        self._replies: dict[str, str] = {}
        self._reasoning: dict[str, str] = {}
        self._activities: dict[str, str] = {}
        self._printed: dict[CallKey, PrintedOutput] = {}
        # Calls with `background`, whose command keeps running after the call has returned.
        self._background: set[CallKey] = set()

    def apply(self, updates: Iterable[object]) -> None:
        """Apply a batch of live updates and journal updates, in order."""
        for update in updates:
            if isinstance(update, LiveUpdate):
                self.apply_live_update(update)
            elif isinstance(update, JournalUpdate):
                self.apply_event(update.session.id, update.entry.event)

    def apply_live_update(self, update: LiveUpdate) -> None:
        session = update.session
        if update.call:
            self._printed.setdefault(CallKey(session, update.call), PrintedOutput()).append(update.output)
        elif update.ended:
            self._end_reply(session)
        elif update.activity:
            self._activities[session] = update.activity
        elif update.reasoning and session not in self._replies:
            self._reasoning[session] = (self._reasoning.get(session, "") + update.reasoning)[-REASONING_CHARS:]
        if update.text:
            reply = self._replies.get(session, "")
            if len(reply) < MAX_REPLY_CHARS:  # the event with the finished reply will contain the whole text
                self._replies[session] = (reply + update.text)[:MAX_REPLY_CHARS]

    def apply_event(self, session: str, event: SessionEvent) -> None:
        """Discard the streamed text that an event has made obsolete."""
        match event:
            case Replied(calls=calls):
                self._end_reply(session)
                self._background |= {CallKey(session, call.id) for call in calls if _is_background(call)}
            case ReplyInterrupted():
                self._end_reply(session)
            case ToolReturned(call_id=call) if CallKey(session, call) not in self._background:
                self._printed.pop(CallKey(session, call), None)
            case BackgroundCommandEnded(call_id=call):
                self._printed.pop(CallKey(session, call), None)
            case RunEnded() | RunPaused() | RunInterrupted():
                self._background = {key for key in self._background if key.session != session}
                self._printed = {key: printed for key, printed in self._printed.items() if key.session != session}
            case _:
                pass

    def reply_text(self, session: str) -> str:
        """Return the text of the reply in progress as Markdown; "" before it begins."""
        return self._replies.get(session, "")

    def reply(self, session: str) -> str:
        """Return the reply in progress as Markdown.

        Before its text begins, return the end of the reasoning as a block quote.
        """
        if text := self.reply_text(session):
            return text
        stored = self._reasoning.get(session, "")
        reasoning = stored.strip()
        if len(stored) == REASONING_CHARS:  # the beginning is missing, and the first word may be incomplete
            reasoning = "…" + reasoning[reasoning.find(" ") + 1 :]
        return "\n".join(f"> {line}" for line in reasoning.splitlines())

    def activity(self, session: str) -> str:
        """Return what the provider does before it replies, such as loading a model.

        Once reasoning or text has arrived, return an empty string.
        """
        return "" if session in self._replies or session in self._reasoning else self._activities.get(session, "")

    def _end_reply(self, session: str) -> None:
        self._activities.pop(session, None)
        self._replies.pop(session, None)
        self._reasoning.pop(session, None)

    def output_since(self, session: str, call: str, position: int) -> RecentOutput:
        """Return what a running call has printed after the first `position` bytes.

        The beginning of a long output is discarded. For an unknown call, return no output.
        """
        printed = self._printed.get(CallKey(session, call))
        return RecentOutput(printed.size, printed.since(position)) if printed else RecentOutput(0, b"")

    def output_tail(self, session: str, call: str) -> str:
        """Return the last lines of the output of a running call."""
        size = self.output_since(session, call, 0).size
        text = self.output_since(session, call, size - TAIL_BYTES).output.decode("utf-8", "replace")
        return "\n".join(text.rstrip("\n").split("\n")[-TAIL_LINES:])


def _is_background(call: ToolCall) -> bool:
    if '"background"' not in call.arguments.head:  # a quick test that avoids parsing the arguments of all other calls
        return False
    try:
        arguments = json.loads(call.arguments.head)
    except ValueError:
        return False
    return isinstance(arguments, dict) and arguments.get("background") is True
