"""Builds the events of an imported session from the messages, replies, calls and results that an importer reads."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from core.domain.events import (
    CallStarted,
    ContextCompacted,
    FileChanged,
    Replied,
    RequestSent,
    RunEnded,
    RunStarted,
    SessionCreated,
    SessionEvent,
    SubagentEnded,
    SubagentStarted,
    ToolCall,
    ToolReturned,
    Usage,
    UserMessage,
)
from core.domain.import_events import UnrecognizedRecordsKept
from core.domain.problems import ErrorDetails
from core.domain.session_metadata import initial_title
from core.domain.steps import first_line
from core.domain.text import Attachment, Text
from core.exchange.importers.embedded_file import EmbeddedFile
from core.exchange.importers.foreign_call import STEP_KINDS, ForeignCall, call_object
from core.exchange.importers.pending_reply import (
    NO_USAGE,
    PendingReply,
    WrittenUsage,
    add_usages,
    subtract_usage,
)
from core.store.blobs import blob_hash

DEFAULT_TITLE = "Imported session"
# The number of characters after which an unrecognized record is truncated, and the most that one event may hold.
MAX_RAW_LENGTH = 4 << 20
UNNAMED = "\x00unnamed "  # begins the IDs of calls that have none in the transcript
State = TypeVar("State")


class SubagentCall(NamedTuple):
    """The tool call that started a sub-agent.

    `id` is the ID of the call in the imported session, empty if unknown. `subagent` is the name of the sub-agent.
    """

    id: str = ""
    subagent: str = "agent"


EmitEvent = Callable[[str, int, SessionEvent, Mapping[str, bytes]], None]
SessionIdOf = Callable[[str], str]
NO_BLOBS: Mapping[str, bytes] = MappingProxyType({})


class SessionBuilder:
    """Builds the events of one imported session from what an importer reads.

    Each event is passed to `emit`. `session_id_of` returns the ID that a session key has in Journeyman.

    Attributes:
        record_count: The number of records read.
        unrecognized: The number of unrecognized records by type.
        latest: The latest time so far, in microseconds. A record without a time gets this time.
        fallback_time: The time of the first record if it has none.
    """

    def __init__(self, agent: str, key: str, emit: EmitEvent, session_id_of: SessionIdOf) -> None:
        self.agent = agent
        self.key = key
        self.record_count = 0
        self.unrecognized: dict[str, int] = {}
        self.latest = 0
        self.fallback_time = 0
        self._state: object = None
        self._subagent_calls: dict[str, SubagentCall] = {}
        self._emit_event = emit
        self._session_id_of = session_id_of
        self._opening: SessionCreated | None = SessionCreated(
            session_id_of(key), "", "", imported_from=f"{agent}:{key}"
        )
        self._held_back: list[UnrecognizedRecordsKept] = []
        self._unrecognized: list[str] = []
        self._unrecognized_type = ""
        self._unrecognized_size = 0
        self._running = False
        self._model = ""
        self._pending: PendingReply | None = None
        self._uncounted = NO_USAGE
        self._last_written = WrittenUsage()
        self._turn = 0
        self._new_call_ids: dict[str, str] = {}
        self._call_count = 0
        self._unnamed_count = 0
        self._open_calls: dict[str, None] = {}
        self._has_final_reply = False

    def state(self, kind: type[State]) -> State:
        """Return the object in which the importer keeps its state of this session, created as `kind()`."""
        if self._state is None:
            self._state = kind()
        assert isinstance(self._state, kind)
        return self._state

    # Details of the session

    def set_details(self, *, folder: str = "", title: str = "", model: str = "") -> None:
        """Set details of the session. Folder and title are ignored once the session has events."""
        if opening := self._opening:
            self._opening = replace(
                opening, folder=folder or opening.folder, title=initial_title(title) or opening.title
            )
        self._model = model or self._model

    def set_parent(self, parent: str, call: SubagentCall | None = None) -> None:
        """Set the key of the parent session, and the call there that started this one.

        Ignored once the session has events.
        """
        call = call or SubagentCall()
        if self._opening:
            self._opening = replace(
                self._opening,
                parent=self._session_id_of(parent),
                parent_call=call.id,
                subagent=first_line(call.subagent),
                depth=1,
            )

    def has_events(self) -> bool:
        """Return whether the session has events."""
        return self._opening is None

    # Events of the transcript

    def add_user_message(self, text: str, at: int = 0, files: Sequence[EmbeddedFile] = ()) -> None:
        """Add a message of the user. If the last reply made no tool calls, its run ends and a new run starts."""
        self._flush_reply()
        self._advance(at)
        if self._running and self._has_final_reply and not self._open_calls:
            self._end_run("completed")
        self._create_session(text)
        self._emit(UserMessage(Text(text), _attachments(files)), _blobs(files))

    def add_reply(
        self,
        text: str = "",
        *,
        at: int = 0,
        reply_id: str = "",
        reasoning: str = "",
        calls: Sequence[ForeignCall] = (),
        usage: Usage | None = None,
        model: str = "",
        stop_reason: str = "",
        cost: float | None = None,
        requested_at: int = 0,
    ) -> None:
        """Add a reply, or continue the last one if it has the same ID. `requested_at` is when the model was asked.

        A call with the ID "" gets an ID of its own.
        """
        pending = self._pending
        if pending is None or not reply_id or pending.id != reply_id:
            self._flush_reply()
            pending = self._pending = PendingReply(
                id=reply_id,
                requested_at=requested_at or self.latest or at,
                at=at or self.latest,
                model=model or self._model,
            )
        self._advance(at)
        pending.at = max(pending.at, at)
        if text:
            pending.texts.append(text)
        if reasoning:
            pending.thoughts.append(reasoning)
        pending.calls += map(self._with_id, calls)
        pending.usage = usage or pending.usage
        pending.model = model or pending.model
        pending.stop_reason = stop_reason or pending.stop_reason
        pending.cost = cost if cost is not None else pending.cost

    def add_result(
        self,
        call_id: str,
        output: str,
        *,
        at: int = 0,
        failed: bool = False,
        exit_code: int | None = None,
        files: Sequence[EmbeddedFile] = (),
    ) -> None:
        """Add the result of a tool call. If no reply contained the call, add the call too.

        A result with the ID "" answers the oldest open call without an ID or, if there is none, the oldest open call.
        """
        self._flush_reply()
        self._advance(at)
        call_id = call_id or self._oldest_open_call()
        if call_id not in self._new_call_ids:
            self._add_call(ForeignCall(call_id, "tool"))
        result = ToolReturned(
            call_id=self._new_call_ids[call_id],
            output=Text(output),
            failed=failed,
            exit_code=exit_code,
            attachments=_attachments(files),
        )
        self._emit(result, _blobs(files))
        self._open_calls.pop(call_id, None)

    def complete_reply(self) -> None:
        """Write the last reply now. Records that follow cannot continue it."""
        self._flush_reply()

    def mark_final(self) -> None:
        """Mark the last reply as the last of its run, although it made tool calls: nobody reads their results."""
        self._flush_reply()
        self._has_final_reply = True

    def add_usage(self, usage: Usage) -> None:
        """Add token usage from a separate record to the last reply or, if that is already written, to the next."""
        if self._pending:
            self._pending.usage = add_usages(self._pending.usage, usage)
        elif usage != NO_USAGE:
            self._uncounted = add_usages(self._uncounted, usage)

    def imported_call_id(self, call_id: str) -> str:
        """Return the ID that a call has in the imported session; empty if the call is unknown."""
        self._flush_reply()
        return self._new_call_ids.get(call_id, "")

    def add_file_change(
        self, call_id: str, path: str, before: str | None, after: str | None, added: int, removed: int
    ) -> None:
        """Add a file change by a call. `before` and `after` are the contents; None means that there was no file."""
        self._flush_reply()
        blobs: dict[str, bytes] = {}

        def add_blob(text: str | None) -> str:
            if text is None:
                return ""
            content = text.encode("utf-8", "replace")
            name = blob_hash(content)
            blobs[name] = content
            return name

        change = FileChanged(
            call_id=self._new_call_ids.get(call_id, call_id),
            path=path,
            before=add_blob(before),
            after=add_blob(after),
            added=added,
            removed=removed,
        )
        self._emit(change, blobs)

    def start_subagent(self, call_id: str, child: str, subagent: str, task: str = "") -> None:
        """Add the start of a sub-agent by a call. `child` is the key of its session, and `subagent` its name."""
        self._flush_reply()
        new_id = self._new_call_ids.get(call_id, "")
        self._emit(SubagentStarted(new_id or call_id, self._session_id_of(child), subagent, Text(task)))
        self._subagent_calls[child] = SubagentCall(new_id, subagent)

    def subagent_call(self, child: str) -> SubagentCall:
        """Return the call that started the sub-agent with the session key `child`. Its ID is empty if unknown."""
        return self._subagent_calls.get(child, SubagentCall())

    def end_subagent(self, call_id: str, child: str, status: str) -> None:
        self._flush_reply()
        self._emit(SubagentEnded(self._new_call_ids.get(call_id, call_id), self._session_id_of(child), status))

    def add_compaction(self, reason: str, summary: str = "", before: int = 0, after: int = 0, at: int = 0) -> None:
        """Add a compaction of the model's context. The messages before it stay in the imported session."""
        self._flush_reply()
        self._advance(at)
        self._create_session("")
        self._emit(ContextCompacted(reason, before, after, summary=Text(summary)))

    def fail_run(self, message: str, at: int = 0) -> None:
        """End the run with an error."""
        self._flush_reply()
        self._advance(at)
        if self._running:
            self._end_run("failed", message, ErrorDetails(message))

    def stop_run(self, reason: str, at: int = 0) -> None:
        self._flush_reply()
        self._advance(at)
        if self._running:
            self._end_run("stopped", reason)

    def complete_run(self, reason: str = "", at: int = 0) -> None:
        self._flush_reply()
        self._advance(at)
        if self._running:
            self._end_run("completed", reason)

    def keep_unrecognized(self, record_type: str, raw: str) -> None:
        """Store an unrecognized record verbatim. Consecutive records of the same type are stored in one event."""
        self.unrecognized[record_type] = self.unrecognized.get(record_type, 0) + 1
        if len(raw) > MAX_RAW_LENGTH:
            raw = f"{raw[:MAX_RAW_LENGTH]}… [truncated; {len(raw):,} characters in total]"
        if record_type != self._unrecognized_type or self._unrecognized_size + len(raw) > MAX_RAW_LENGTH:
            self._flush_unrecognized()
            self._unrecognized_type = record_type
        self._unrecognized.append(raw)
        self._unrecognized_size += len(raw)

    def try_settle(self) -> bool:
        """Write the unrecognized records.

        Return false, with nothing written, if the next record may continue a reply.
        """
        if self._pending or self._uncounted is not NO_USAGE:
            return False
        self._flush_unrecognized()
        return True

    def settle(self) -> None:
        """Complete the last reply, because no records have come for a while.

        End the run if the reply made no tool calls.
        """
        self._flush_reply()
        # The usage belongs to a reply that is written already.
        if self._uncounted is not NO_USAGE and self.has_events():
            uncounted, self._uncounted = self._uncounted, NO_USAGE
            self._emit(Replied(usage=uncounted))
        if self.has_events():  # unrecognized records alone do not create a session
            self._flush_unrecognized()
        if self._running and self._has_final_reply and not self._open_calls:
            self._end_run("completed")

    def finish(self) -> None:
        """End the session at the end of the transcript. An open run is stopped."""
        self.settle()
        if self._running:
            self._end_run("stopped", "end of the transcript")

    # Writing the events

    def _advance(self, at: int) -> None:
        self.latest = max(self.latest, at)

    def _emit(self, event: SessionEvent, contents: Mapping[str, bytes] = NO_BLOBS) -> None:
        self._create_session("")
        if self._unrecognized:
            self._flush_unrecognized()
        self._emit_event(self.key, self.latest, event, contents)

    def _flush_unrecognized(self) -> None:
        """Write the unrecognized records that were collected.

        Before the session has events, they wait: the first message determines the session's title.
        """
        records, self._unrecognized = self._unrecognized, []
        self._unrecognized_size = 0
        if not records:
            return
        event = UnrecognizedRecordsKept(self._unrecognized_type, Text("\n".join(records)), len(records))
        if self._opening:
            self._held_back.append(event)
        else:
            self._emit_event(self.key, self.latest, event, NO_BLOBS)

    def _create_session(self, text: str) -> None:
        """Emit the event that creates the session, if it was not emitted yet.

        A session without a title gets one from `text`.
        """
        if opening := self._opening:
            self._flush_unrecognized()
            self._opening = None
            self.latest = self.latest or self.fallback_time
            self._emit(replace(opening, title=opening.title or initial_title(text) or DEFAULT_TITLE))
            for event in self._held_back:
                self._emit(event)
            self._held_back.clear()

    def _start_run(self) -> None:
        self._create_session("")
        if not self._running:
            self._running = True
            self._has_final_reply = False
            self._turn = 0
            self._emit(RunStarted(self._model or "unknown", mode="ask-all"))

    def _end_run(self, status: Any, reason: str = "", error: ErrorDetails | None = None) -> None:
        self._running = False
        self._open_calls.clear()
        self._emit(RunEnded(status, reason, error))

    def _flush_reply(self) -> None:
        """Emit the events of the pending reply: its request, the reply, and the start of each of its tool calls."""
        pending, self._pending = self._pending, None
        if pending is None or pending.is_empty():
            return
        latest_before = self.latest
        self.latest = max(0, min(pending.requested_at, self.latest))
        self._model = pending.model or self._model
        self._start_run()
        self._turn += 1
        self._emit(RequestSent(self._model or "unknown", self._turn))
        self.latest = pending.at
        calls = tuple(ToolCall(self._new_call_id(call), call.tool, Text(call.arguments)) for call in pending.calls)
        reply = Replied(
            text=Text("\n\n".join(pending.texts)),
            reasoning=Text("\n\n".join(pending.thoughts)),
            calls=calls,
            usage=self._new_usage(pending),
            stop_reason=pending.stop_reason,
            cost=pending.cost,
        )
        self._emit(reply)
        self._has_final_reply = not calls
        for call in pending.calls:
            self._start_call(call)
        self.latest = max(latest_before, self.latest)

    def _new_usage(self, pending: PendingReply) -> Usage:
        """Return the part of a reply's usage that was not written yet.

        A reply that is written in two parts counts once.
        """
        last_written = self._last_written
        self._last_written = WrittenUsage(pending.id, pending.usage)
        if pending.id and pending.id == last_written.reply_id:
            return subtract_usage(pending.usage, last_written.usage)
        uncounted, self._uncounted = self._uncounted, NO_USAGE
        return pending.usage if uncounted is NO_USAGE else add_usages(pending.usage, uncounted)

    def _with_id(self, call: ForeignCall) -> ForeignCall:
        return call if call.id else replace(call, id=self._next_unnamed_id())

    def _next_unnamed_id(self) -> str:
        self._unnamed_count += 1
        return f"{UNNAMED}{self._unnamed_count}"

    def _oldest_open_call(self) -> str:
        """Return the ID of the call that a result without an ID answers; the ID of a new call if none is open."""
        unnamed = (id for id in self._open_calls if id.startswith(UNNAMED))
        return next(unnamed, None) or next(iter(self._open_calls), None) or self._next_unnamed_id()

    def _new_call_id(self, call: ForeignCall) -> str:
        """Give a tool call a new ID that is unique in the session. IDs in the transcript may repeat."""
        self._call_count += 1
        new_id = f"r{self._turn}c{self._call_count}"
        self._new_call_ids[call.id] = new_id
        return new_id

    def _add_call(self, call: ForeignCall) -> None:
        self._start_run()
        self._new_call_id(call)
        self._start_call(call)

    def _start_call(self, call: ForeignCall) -> None:
        self._open_calls[call.id] = None
        kind = STEP_KINDS.get(call.tool.lower(), "tool")
        self._emit(CallStarted(self._new_call_ids[call.id], call.tool, kind, call_object(call)))


def _attachments(files: Sequence[EmbeddedFile]) -> tuple[Attachment, ...]:
    return tuple(
        Attachment(name=file.name, media_type=file.media_type, blob=blob_hash(file.content), size=len(file.content))
        for file in files
    )


def _blobs(files: Sequence[EmbeddedFile]) -> dict[str, bytes]:
    return {blob_hash(file.content): file.content for file in files}
