"""Replays a session: the engine runs again, with model replies, tool results and answers from the recorded events.

A replay uses a separate temporary data folder. In the user's data folder the copy would show up in searches and
statistics, and it would need a different ID than the original session.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Literal

from core.domain.events import (
    EVENT_KINDS,
    CallRefused,
    CallStarted,
    EventRecord,
    HarnessMessage,
    HookRan,
    Replied,
    ReplyInterrupted,
    RequestRetried,
    RequestSent,
    RunEnded,
    RunInterrupted,
    RunPaused,
    RunResumed,
    RunStarted,
    SessionCreated,
    SessionEvent,
    SubagentEnded,
    ToolCall,
    ToolReturned,
    UntrustedContentRead,
)
from core.domain.external_agents import AGENT_PREFIX
from core.domain.ids import permission_id
from core.domain.permissions import (
    Allowed,
    CallAllowed,
    Denied,
    NeedsApproval,
    PermissionDecided,
    PermissionRequested,
    PolicyDecision,
)
from core.domain.problems import Problem
from core.domain.question import QuestionAsked
from core.engine.history.fork import CUT_RESULT
from core.engine.run.acceptance import CHECK_REASON
from core.engine.run.background_agents import AGENT_REASON
from core.engine.run.execute import ExecutedCall
from core.engine.run.loop import run_turns
from core.engine.run.run_context import RunContext
from core.engine.services.hooks import HOOK_REASON, NO_OUTCOME, HookMoment, HookOutcome, hook_outcome
from core.engine.state.conversation import Conversation
from core.engine.state.live_updates import LiveUpdates
from core.engine.state.unresolved_calls import SKIPPED_RESULT
from core.models.recorded_model import RecordedModel, recorded_outcomes
from core.store.codec import decode_event, encode_event
from core.store.data_folder import DATABASE_FILE
from core.store.database import Database
from core.store.journal import Journal, Listener
from core.store.reader import Reader
from core.tools.tool import Tool
from core.tools.tool_context import ToolContext, open_context

BeforeEvent = Callable[[EventRecord], Awaitable[None]]
EventOrigin = Literal["supplied", "played", "different"]
"""*supplied*: the recording supplied the event, such as a message of the user. *played*: the engine did the same again.
*different*: the engine would have done something else, so the recording supplied the event."""
NoteOrigin = Callable[[EventRecord, EventOrigin, SessionEvent | None], None]
SETTLE_ITERATIONS = 60  # If the engine has not offered an event after so many event loop iterations, it is blocked.
REQUEST = "request"
BLOB_FIELDS = frozenset({"blob", "before", "after"})


@dataclass(slots=True)
class ReplayResult:
    """The result of a replay.

    `regenerated` counts the events that the engine produced again, by kind, and `injected` the events that were taken
    from the recording. `differing` lists the sequence numbers of the recorded events that the engine should have
    produced but did not.
    """

    regenerated: Counter[str] = field(default_factory=Counter)
    injected: Counter[str] = field(default_factory=Counter)
    differing: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Offer:
    """Events that the engine is about to append, and the future that resolves once they are written."""

    events: list[SessionEvent]
    written: asyncio.Future[EventRecord]


class _ReplayJournal(Journal):
    """A journal that holds back the events that the engine appends until the recording reaches them."""

    def __init__(self, database: Database, reader: Reader) -> None:
        super().__init__(database, reader)
        self.offers: list[_Offer] = []
        self.closed = False

    def start_append(
        self, session: str, *events: SessionEvent, blobs: Mapping[str, bytes] | None = None
    ) -> asyncio.Future[EventRecord]:
        if self.closed:
            raise asyncio.CancelledError
        offer = _Offer(
            [encode_event(event).stored_event for event in events], asyncio.get_running_loop().create_future()
        )
        self.offers.append(offer)
        return offer.written

    def stage(self, session: str, *events: SessionEvent) -> list[EventRecord]:
        return []  # No event is staged, so that the engine offers each one at once with `append`.


async def replay_session(
    reader: Reader,
    session: str,
    folder: Path,
    listener: Listener,
    before_event: BeforeEvent,
    note_origin: NoteOrigin = lambda _entry, _origin, _instead: None,
) -> ReplayResult:
    """Replay a session in the data folder `folder`.

    `listener` receives each event once it is written; `before_event` is awaited before each event, to set the pace.
    `note_origin` is called before an event is written, with where it comes from, and with the event that the engine
    would have written instead, if it offered one.
    """
    entries = [
        EventRecord(session, seq, run, at, decode_event(kind, data))
        for seq, run, at, kind, data in reader.raw_events(session)
    ]
    if not entries or not isinstance(entries[0].event, SessionCreated):
        fix = f"View it with `journeyman show {session}`."
        raise Problem("This session cannot be replayed.", "Its first events are missing.", fix)
    database = Database(folder / DATABASE_FILE, synchronous="OFF")
    replay_reader = Reader(folder / DATABASE_FILE)
    context = open_context(folder, folder)  # A run needs a context, but a replay executes no tool in it.
    try:
        async with asyncio.TaskGroup() as tasks:
            journal = _ReplayJournal(database, replay_reader)
            replayer = _Replayer(entries, reader, journal, tasks, context, note_origin)
            return await replayer.play(listener, before_event)
    finally:
        await context.close()
        replay_reader.close()
        database.close()


class _Replayer:
    """Steps through the recording. Each event is produced by the engine if possible, otherwise injected."""

    def __init__(
        self,
        entries: list[EventRecord],
        reader: Reader,
        journal: _ReplayJournal,
        tasks: asyncio.TaskGroup,
        tool_context: ToolContext,
        note_origin: NoteOrigin,
    ) -> None:
        self._entries = entries
        self._note_origin = note_origin
        self._instead: SessionEvent | None = None
        self._tool_context = tool_context
        self._reader = reader
        self._journal = journal
        self._tasks = tasks
        self._conversation = Conversation()
        self._index = 0
        self._run_active = False
        self._task: asyncio.Task[None] | None = None
        self._result = ReplayResult()
        # Calls, or REQUEST, whose start was injected, so the engine cannot end them.
        self._injected_starts: set[str] = set()

    async def play(self, listener: Listener, before_event: BeforeEvent) -> ReplayResult:
        self._journal.listen(lambda update: self._conversation.apply(update.entry))
        self._journal.listen(listener)
        try:
            for index, entry in enumerate(self._entries):
                await before_event(entry)
                self._index = index
                await self._write(entry)
        finally:
            await self._cancel_engine()
        return self._result

    async def _write(self, entry: EventRecord) -> None:
        """Write the recorded event and note whether the engine offered the same one. Resolve the offer if so."""
        event = entry.event
        kind = EVENT_KINDS[type(event)]
        offer = await self._find_offer(entry)
        if offer:
            self._note_origin(entry, "played", None)
        elif self._is_external(event) or self._ends_injected_start(event):
            self._note_origin(entry, "supplied", None)
        else:
            self._result.differing.append(entry.seq)
            self._note_origin(entry, "different", self._instead)
        if offer is None and _ends_run(event):
            await self._cancel_engine()
        blobs = {name: body for name in blob_names(event) if (body := self._reader.blob(name))}
        record = await self._journal.append_timed(entry.session, [(entry.at, event)], blobs=blobs)
        self._run_active = _is_run_active(self._run_active, event)
        started = {REQUEST} if isinstance(event, RequestSent) else _call_ids(event)
        if offer is None:
            self._result.injected[kind] += 1
            self._injected_starts |= started
            return
        self._result.regenerated[kind] += 1
        self._injected_starts -= started
        self._index += 1
        offer.events.pop(0)
        if not offer.events:
            self._journal.offers.remove(offer)
            offer.written.set_result(record)

    async def _find_offer(self, entry: EventRecord) -> _Offer | None:
        """Return the engine's offer for this event, or None.

        If the engine offers something else, restart it once with the events written so far, and try again.
        """
        for _ in range(2):
            if offer := await self._wait_for_offer(entry.event):
                return offer
            if self._is_external(entry.event):
                return None
            self._instead = self._journal.offers[0].events[0] if self._journal.offers else None
            await self._cancel_engine()
        return None

    async def _wait_for_offer(self, event: SessionEvent) -> _Offer | None:
        if self._task is None and self._run_active and not self._is_external(event):
            self._start()
        for _ in range(SETTLE_ITERATIONS):
            for offer in self._journal.offers:
                if matches_recorded(offer.events[0], event):
                    return offer
            if self._task is None or self._task.done() or self._is_external(event):
                return None
            await asyncio.sleep(0)
        return None

    def _is_external(self, event: SessionEvent) -> bool:
        """Return whether the engine cannot produce the event, such as user input, or any event of an external agent."""
        start = self._conversation.start
        if isinstance(event, SubagentEnded | UntrustedContentRead) and event.call_id in self._conversation.background:
            return True  # A sub-agent in the background has ended, which can happen at any time.
        return is_external_input(event) or (start is not None and start.model.startswith(AGENT_PREFIX))

    def _ends_injected_start(self, event: SessionEvent) -> bool:
        """Return whether the event ends a call or a request whose start was injected."""
        if isinstance(event, Replied | ReplyInterrupted | RequestRetried):
            return REQUEST in self._injected_starts
        return not isinstance(event, CallStarted) and bool(_call_ids(event) & self._injected_starts)

    def _start(self) -> None:
        """Start the engine as after a restart, with all state read from the events written so far."""
        start = self._conversation.start
        assert start is not None
        self._journal.closed = False
        rest = [entry.event for entry in self._entries[self._index :]]
        run = RunContext(
            session=self._entries[0].session,
            tool_context=self._tool_context,
            model_name=start.model,
            model=RecordedModel(recorded_outcomes(rest), self._reader.read_text, self._recorded_window()),
            conversation=self._conversation,
            journal=self._journal,
            reader=self._reader,
            live_updates=LiveUpdates(),
            attended=start.interactive,
            evaluate=self._recorded_decision,
            admit_question=self._recorded_admission,
            has_time_limits=False,
            delegate=self._delegate,
            check_agent=self._delegate,
            execute=self._recorded_outcome,
            sleep=_no_sleep,
            recorded_hooks=self._recorded_hooks,
            compaction_enabled=False,
        )
        self._task = self._tasks.create_task(self._run_engine(run))

    def _recorded_window(self) -> int:
        """Return the context window, in tokens, recorded in the next request; 0 without one.

        The replay needs it because the length of a recalled result depends on it.
        """
        return next((event.context_window for event in self._upcoming() if isinstance(event, RequestSent)), 0)

    async def _run_engine(self, run: RunContext) -> None:
        try:
            last: SessionEvent = await run_turns(run)
        except Problem as problem:
            last = RunEnded("failed", problem.details.message, problem.details)
        await self._journal.append(run.session, last)

    async def _cancel_engine(self) -> None:
        """Cancel the engine without recording anything."""
        self._journal.closed = True
        self._journal.offers.clear()
        if self._task:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    @asynccontextmanager
    async def _recorded_admission(self, _run: RunContext, _question: str, call: str) -> AsyncIterator[bool]:
        """Return whether the call asked the user; otherwise the recording has its refusal."""
        yield not any(isinstance(event, CallRefused) and event.call_id == call for event in self._upcoming())

    async def _recorded_decision(
        self, run: RunContext, _tool: Tool, call: str, _parameters: Any
    ) -> PolicyDecision | None:
        """Return the recorded policy decision on a call; None if the call starts, or the user decides, next."""
        for event in self._upcoming():
            match event:
                case PermissionRequested(request=request, arguments=arguments) if request.call_id == call:
                    return NeedsApproval(request, self._reader.read_text(arguments))
                case CallAllowed(call_id=name, reason=cause, rule_id=rule) if name == call:
                    return Allowed(cause, rule)
                case CallRefused(call_id=name, reason=reason, rule_id=rule) if name == call:
                    return Denied(self._reader.read_text(reason), rule)
                case PermissionDecided(request_id=name) if name.startswith(permission_id(run.session, call)):
                    return None
                case CallStarted(call_id=name) if name == call:
                    return None
        return None

    def _recorded_hooks(self, moment: HookMoment, details: Mapping[str, object]) -> HookOutcome:
        """Return what the recorded `before_call` hooks of a call decided.

        The hooks of other moments only add events, which the replay takes from the recording.
        """
        call = details.get("call")
        if moment != "before_call" or not isinstance(call, dict):
            return NO_OUTCOME
        ran = [entry.event for entry in self._entries if isinstance(entry.event, HookRan)]
        own = [hook for hook in ran if hook.trigger == moment and hook.call_id == call["id"] and not hook.blocked]
        return hook_outcome(own, self._reader.read_text)

    async def _recorded_outcome(
        self, tool: Tool, call: str, parameters: Any, _context: ToolContext, _digests: dict[str, str]
    ) -> ExecutedCall:
        """Return the recorded outcome of a call. Wait forever if the recorded call never returned."""
        events: list[SessionEvent] = []
        for event in self._upcoming():
            if call in _call_ids(event) and not isinstance(event, CallAllowed | CallStarted):
                events.append(event)
            if isinstance(event, ToolReturned) and event.call_id == call:
                return ExecutedCall(events, {})
            if _ends_run(event):
                break
        await asyncio.get_running_loop().create_future()
        raise AssertionError

    async def _delegate(self, run: RunContext, call: ToolCall, _arguments: object) -> None:
        """Write the recorded outcome of a call about a sub-agent. The session of the sub-agent is not replayed."""
        events: list[SessionEvent] = []
        for event in self._upcoming():
            if call.id in _call_ids(event):
                events.append(event)
            if isinstance(event, ToolReturned | CallRefused) and event.call_id == call.id:
                break
            if _ends_run(event):
                break
        for event in events:
            await run.record(event)
        if call.id in run.conversation.pending:  # The recorded call never returned, so wait forever.
            await asyncio.get_running_loop().create_future()

    def _upcoming(self) -> Iterator[SessionEvent]:
        """Yield the recorded events from the current one on."""
        for index in range(self._index, len(self._entries)):
            yield self._entries[index].event


def matches_recorded(offered: SessionEvent, recorded: SessionEvent) -> bool:
    """Return whether the event that the engine offers equals the recorded event.

    Three differences are ignored: the random wait before a retry, the time to the first token, and the model and size
    of a request, which depend on the settings.
    """
    if isinstance(offered, Replied) and isinstance(recorded, Replied):
        return replace(offered, first_token_s=recorded.first_token_s) == recorded
    if isinstance(offered, RequestRetried) and isinstance(recorded, RequestRetried):
        return replace(offered, wait_s=recorded.wait_s) == recorded
    if isinstance(offered, RequestSent) and isinstance(recorded, RequestSent):
        return offered.turn == recorded.turn and not recorded.purpose
    return offered == recorded


def is_external_input(event: SessionEvent) -> bool:
    """Return whether the event comes from the user or from outside Journeyman.

    Apart from special cases, that is every kind of event that is not in ENGINE_EVENT_KINDS.
    """
    match event:
        case RunEnded(status=status):
            return status == "stopped"
        case RunPaused(error=details):
            return details is None
        case RequestSent(purpose=use):
            return bool(use)
        case HarnessMessage(reason=reason):
            return reason.startswith((HOOK_REASON, CHECK_REASON, AGENT_REASON))
        case ToolReturned(output=output):
            return output in (SKIPPED_RESULT, CUT_RESULT)
        case QuestionAsked(question=question):
            return bool(question.mcp_server)
        case _:
            return EVENT_KINDS[type(event)] not in ENGINE_EVENT_KINDS


def blob_names(value: Any) -> Iterator[str]:
    """Yield the hash of every blob that an event, or a value in it, refers to."""
    if isinstance(value, tuple):
        for item in value:
            yield from blob_names(item)
    elif is_dataclass(value):
        for field in fields(value):
            field_value = getattr(value, field.name)
            if field.name in BLOB_FIELDS and isinstance(field_value, str) and field_value:
                yield field_value
            else:
                yield from blob_names(field_value)


def _call_ids(event: SessionEvent) -> set[str]:
    return {getattr(event, "call_id", "")} - {""}


def _ends_run(event: SessionEvent) -> bool:
    return isinstance(event, RunEnded | RunInterrupted | RunPaused)


def _is_run_active(was_active: bool, event: SessionEvent) -> bool:
    return isinstance(event, RunStarted | RunResumed) or (was_active and not _ends_run(event))


async def _no_sleep(seconds: float) -> None:
    """Return at once: a replay does not wait before retries."""


ENGINE_EVENT_KINDS = frozenset(
    {
        "request_sent",
        "replied",
        "reply_interrupted",
        "request_retried",
        "call_allowed",
        "call_started",
        "call_refused",
        "file_changed",
        "tool_returned",
        "subagent_started",
        "subagent_ended",
        "question_asked",
        "permission_requested",
        "decision_made",
        "issue_reported",
        "untrusted_content_read",
        "limit_threshold_reached",
        "limit_raised",
        "harness_message",
        "run_paused",
        "run_ended",
    }
)
