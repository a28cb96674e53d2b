"""Builds the events of a fork: a copy of another session up to some event, with open calls and runs closed."""

from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from typing import Any, Literal, cast

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
)
from core.domain.permissions import PermissionRequested
from core.domain.question import QuestionAsked
from core.domain.session_metadata import SessionArchived, SessionPinned, SessionTrashed
from core.domain.text import Text
from core.engine.policy.imported_sessions import without_permissions
from core.engine.state.conversation import Conversation

ForkReason = Literal["fork", "edit", "rerun"]
ID_FIELDS = frozenset({"question_id", "request_id"})
REQUEST_FIELDS = frozenset({"question", "request"})
RUN_OPENING = (RunStarted, RunResumed, RunPaused, RunInterrupted, Replied, QuestionAsked, PermissionRequested)
CUT_RESULT = Text(
    "[This call was running where the session was forked. How it ended is known in the other session only.]"
)
END_REASON = "forked here; the run continued in the other session"


def fork_events(
    entries: Iterable[EventRecord], name: str, seq: int, reason: ForkReason, now: int
) -> list[tuple[int, SessionEvent]]:
    """Return the events of a fork with their times in microseconds.

    They are the events of the source session up to `seq`, a SessionForked event, and the events that close the calls
    and the run that were open at `seq`.
    """
    events: list[tuple[int, SessionEvent]] = []
    conversation = Conversation()
    run_active = False
    origin, imported_from = "", ""
    for entry in entries:
        if entry.seq > seq:
            break
        origin = origin or entry.session
        if isinstance(entry.event, SessionCreated):
            imported_from = entry.event.imported_from
        source_event = without_permissions(entry.event, imported_from) if imported_from else entry.event
        event = copy_event(source_event, origin, name)
        conversation.apply(replace(entry, event=event))
        if isinstance(event, RunEnded):
            run_active = False
        elif isinstance(event, RUN_OPENING):
            run_active = True
        events.append((entry.at, event))
    if not events or not isinstance(events[0][1], SessionCreated):  # The data file has lost the first event.
        created_at = events[0][0] if events else now
        events.insert(0, (created_at, SessionCreated(name, "", origin)))
    events.append((now, SessionForked(origin, seq, reason)))
    events += [(now, ToolReturned(call, CUT_RESULT, failed=True)) for call in conversation.unresolved_calls()]
    if run_active:
        events.append((now, RunEnded("stopped", END_REASON)))
    return events


def copy_event(event: SessionEvent, origin: str, name: str) -> SessionEvent:
    """Return the event as recorded in the fork. Questions and requests get new IDs, so that no answer is mixed up."""
    if isinstance(event, SessionPinned | SessionArchived | SessionTrashed):
        # The fork is not pinned, archived or trashed. The event stays, because other events refer to events by number.
        return type(event)(False)
    if isinstance(event, SessionCreated):
        # A fork is the user's own session, never a sub-agent's.
        return replace(event, session_id=name, parent="", parent_call="", subagent="", depth=0, imported_from="")
    changes: dict[str, Any] = {}
    for field in fields(event):
        value = getattr(event, field.name)
        if field.name in ID_FIELDS:
            changes[field.name] = _forked_id(value, origin, name)
        elif field.name in REQUEST_FIELDS and is_dataclass(value) and hasattr(value, "id"):
            changes[field.name] = replace(cast(Any, value), id=_forked_id(value.id, origin, name))
    return replace(event, **changes) if changes else event


def _forked_id(old_id: str, origin: str, name: str) -> str:
    """Return the fork's ID for a question or request: its session ID prefix `origin` is replaced with `name`."""
    return f"{name}-{old_id.removeprefix(f'{origin}-')}"
