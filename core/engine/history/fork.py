"""Builds the events of a fork: a copy of another session up to some event, with open calls and runs closed."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal, NamedTuple

from core.domain.events import (
    EventRecord,
    Replied,
    RunEnded,
    RunInterrupted,
    RunPaused,
    RunResumed,
    RunStarted,
    SessionCreated,
    SessionEvent,
    SessionForked,
    ToolReturned,
    UntrustedContentRead,
)
from core.domain.permissions import PermissionDecided, PermissionRequested
from core.domain.question import QuestionAnswered, QuestionAnswerStarted, QuestionAsked
from core.domain.session_metadata import SessionArchived, SessionPinned, SessionTrashed
from core.domain.text import Text
from core.engine.policy.imported_sessions import import_label, without_permissions
from core.engine.state.conversation import Conversation

ForkReason = Literal["fork", "edit", "rerun"]
ACTIVE_RUN_EVENTS = (RunStarted, RunResumed, RunPaused, RunInterrupted, Replied, QuestionAsked, PermissionRequested)
CUT_RESULT = Text(
    "[This call was running where the session was forked. How it ended is known in the other session only.]"
)
FORKED_RUN_REASON = "forked here; the run continued in the other session"


class TimedEvent(NamedTuple):
    """An event with the time at which it happened, in microseconds since the epoch."""

    at: int
    event: SessionEvent


def fork_events(
    entries: Iterable[EventRecord], fork_id: str, seq: int, reason: ForkReason, now: int
) -> list[TimedEvent]:
    """Return the events of the fork `fork_id`.

    They are the events of the source session up to `seq`, a SessionForked event, and the events that close the calls
    and the run that were open at `seq`.
    """
    events: list[TimedEvent] = []
    conversation = Conversation()
    run_active = False
    origin = ""
    imported_from = ""
    for entry in entries:
        if entry.seq > seq:
            break
        origin = origin or entry.session
        if isinstance(entry.event, SessionCreated):
            imported_from = entry.event.imported_from
        source_event = without_permissions(entry.event, imported_from) if imported_from else entry.event
        event = copy_event(source_event, origin, fork_id)
        conversation.apply(replace(entry, event=event))
        if isinstance(event, RunEnded):
            run_active = False
        elif isinstance(event, ACTIVE_RUN_EVENTS):
            run_active = True
        events.append(TimedEvent(entry.at, event))
    if not events or not isinstance(events[0].event, SessionCreated):  # The data file has lost the first event.
        created_at = events[0].at if events else now
        events.insert(0, TimedEvent(created_at, SessionCreated(session_id=fork_id, folder="", title=origin)))
    added: list[SessionEvent] = []
    if imported_from:  # an imported transcript may contain no RunStarted with the label
        added.append(UntrustedContentRead("", import_label(imported_from)))
    added.append(SessionForked(origin, seq, reason, imported=bool(imported_from)))
    added += [ToolReturned(call, CUT_RESULT, failed=True) for call in conversation.unresolved_calls()]
    if run_active:
        added.append(RunEnded("stopped", FORKED_RUN_REASON))
    return events + [TimedEvent(now, event) for event in added]


def copy_event(event: SessionEvent, origin: str, fork_id: str) -> SessionEvent:
    """Return the event as recorded in the fork.

    Questions and permission requests get new IDs, so that an answer cannot reach the original session.
    """
    match event:
        case SessionCreated():
            # A fork is the user's own session, never a sub-agent's.
            return replace(event, session_id=fork_id, parent="", parent_call="", subagent="", depth=0, imported_from="")
        # The fork is not pinned, archived or trashed. The event stays, because other events refer to events by number.
        case SessionPinned():
            return replace(event, pinned=False)
        case SessionArchived():
            return replace(event, archived=False)
        case SessionTrashed():
            return replace(event, trashed=False)
        case QuestionAsked(question=question):
            return replace(event, question=replace(question, id=_forked_id(question.id, origin, fork_id)))
        case QuestionAnswerStarted() | QuestionAnswered():
            return replace(event, question_id=_forked_id(event.question_id, origin, fork_id))
        case PermissionRequested(request=request):
            return replace(event, request=replace(request, id=_forked_id(request.id, origin, fork_id)))
        case PermissionDecided():
            return replace(event, request_id=_forked_id(event.request_id, origin, fork_id))
        case _:
            return event


def _forked_id(old_id: str, origin: str, fork_id: str) -> str:
    """Return the ID of a question or request in the fork: `old_id` with its prefix `origin` replaced by `fork_id`."""
    return f"{fork_id}-{old_id.removeprefix(f'{origin}-')}"
