"""Derives the row of a session in the session list from its events."""

from typing import Any, NamedTuple

from core.domain.events import (
    ContextCompacted,
    EventRecord,
    ModelChanged,
    Replied,
    RequestSent,
    RunEnded,
    RunInterrupted,
    RunPaused,
    RunRated,
    RunResumed,
    RunStarted,
    SessionCreated,
    SessionForked,
    SubagentEnded,
)
from core.domain.permissions import ModeChanged, PermissionDecided, PermissionRequested
from core.domain.question import QuestionAnswered, QuestionAsked
from core.domain.session_metadata import (
    SessionArchived,
    SessionMetadataEvent,
    SessionPinned,
    SessionRenamed,
    SessionTrashed,
)
from core.domain.steps import Outline, Step, first_line

STATUS_AFTER_END = {"completed": "done", "stopped": "stopped", "limit": "limit", "failed": "failed"}
# Kinds of timeline rows that do not count as activity of a session.
NOT_ACTIVITY = frozenset({"run", "user", "fork", "rating", "compaction", "hook"})
REQUEST_KINDS = frozenset({"question", "permission"})
FAILED_REQUEST = "failed_request"  # the activity kind of a run that paused because a model request failed
ACTIVE_STATUSES = frozenset({"running", "waiting"})  # of sessions whose run goes on, or waits for an answer
UNRATED = {"rating": "", "check_rating": ""}


class SessionRow(NamedTuple):
    """The row of a session in the session list.

    Attributes:
        status: waiting, running, paused, done, failed, stopped, limit or interrupted.
        activity, activity_kind: text and kind of the latest step, or of the oldest pending request while waiting; the
            kind is FAILED_REQUEST if the run paused because of an error.
        created_at, updated_at: times in microseconds; while waiting, `updated_at` is the time of the oldest request.
        last_seq: the number of the last event.
        turns, max_turns: the turns of the current run, and their limit.
        pending_requests: the number of questions and permission requests that wait for the user.
        rows, steps: the numbers of timeline rows, and of numbered steps among them.
        rating, check_rating: the rating of the last run by the user and by the task's check: `up`, `down` or "".
        forked_from: the session that this one was forked from.
        pinned, archived, trashed: when the user did that, in microseconds; 0 if not.
        mode: the permission mode.
        parent, parent_call, subagent, depth: set for the session of a sub-agent, as in SessionCreated.
        imported_from: the origin of an imported session, which is read-only.
    """

    id: str
    title: str = ""
    folder: str = ""
    model: str = ""
    status: str = "done"
    activity_kind: str = ""
    activity: str = ""
    created_at: int = 0
    updated_at: int = 0
    last_seq: int = 0
    runs: int = 0
    turns: int = 0
    max_turns: int = 0
    pending_requests: int = 0
    rows: int = 0
    steps: int = 0
    tokens: int = 0
    cost: float = 0.0
    rating: str = ""
    check_rating: str = ""
    forked_from: str = ""
    pinned: int = 0
    archived: int = 0
    trashed: int = 0
    mode: str = ""
    parent: str = ""
    parent_call: str = ""
    subagent: str = ""
    depth: int = 0
    imported_from: str = ""


def needs_decision(row: SessionRow) -> bool:
    """Return whether a session waits for a decision that is made in its own view, such as whether to try again."""
    undecided = row.status == "interrupted" or (row.status == "paused" and row.activity_kind == FAILED_REQUEST)
    return undecided and not (row.archived or row.trashed or row.imported_from)


def fold_session(row: SessionRow, entry: EventRecord, changed: list[Step], outline: Outline) -> SessionRow:
    """Return the row after an event. `changed` are the timeline rows that it changed, `outline` the new timeline."""
    # Such events must not change updated_at, by which the list is sorted.
    if isinstance(entry.event, SessionMetadataEvent):
        return row._replace(last_seq=entry.seq, **_metadata_changes(entry.event, entry.at))
    latest = changed[-1] if changed and changed[-1].kind not in NOT_ACTIVITY else None
    changes: dict[str, Any] = {
        "updated_at": max(entry.at, row.updated_at),
        "last_seq": entry.seq,
        "runs": max(row.runs, entry.run),
        "rows": outline.rows,
        "steps": outline.last_number,
    }
    if latest:
        changes |= {"activity_kind": latest.kind, "activity": latest.object}
    row = row._replace(**(changes | _run_changes(row, entry)))  # in one call, because each _replace copies all fields
    requests = [step for step in outline.open.values() if step.kind in REQUEST_KINDS] if row.status == "waiting" else []
    if requests:  # the oldest request stays shown until it is answered
        oldest = min(requests, key=lambda step: step.started_at)
        row = row._replace(updated_at=oldest.started_at, activity_kind=oldest.kind, activity=oldest.object)
    return row


def _run_changes(row: SessionRow, entry: EventRecord) -> dict[str, Any]:
    """Return the fields of the row that a run's event changes, with their new values."""
    match entry.event:
        case SessionCreated(folder=folder, title=title, parent=parent, parent_call=call, subagent=subagent):
            origin = {
                "parent": parent,
                "parent_call": call,
                "subagent": first_line(subagent),
                "depth": entry.event.depth,
            }
            common = {
                "folder": folder,
                "title": first_line(title),
                "created_at": entry.at,
                "imported_from": entry.event.imported_from,
            }
            return common | origin
        case RunStarted(model=model, max_turns=limit, mode=mode):
            started = {
                "status": "running",
                "model": model,
                "max_turns": limit,
                "turns": 0,
                "pending_requests": 0,
                "mode": mode,
            }
            return started | UNRATED
        case ModeChanged(mode=mode):
            return {"mode": mode}
        case RequestSent(turn=number, purpose="" | "external_agent"):
            return {"turns": number}
        case SubagentEnded(tokens=tokens, cost=cost):
            return {"tokens": row.tokens + tokens, "cost": row.cost + cost}
        case Replied(usage=usage, cost=cost) | ContextCompacted(usage=usage, cost=cost):
            return {"tokens": row.tokens + usage.input + usage.output, "cost": row.cost + (cost or 0.0)}
        case ModelChanged(model=model):
            return {"model": model}
        case QuestionAsked() | PermissionRequested():
            return {"status": "waiting", "pending_requests": row.pending_requests + 1}
        case QuestionAnswered() | PermissionDecided():
            remaining = max(0, row.pending_requests - 1)
            continues = row.status == "waiting" and not remaining
            return {"status": "running" if continues else row.status, "pending_requests": remaining}
        case RunInterrupted(call_ids=calls):
            return {"status": "waiting" if row.pending_requests and not calls else "interrupted"}
        case RunPaused(error=error):
            return {"status": "paused", "activity_kind": FAILED_REQUEST if error else "paused"}
        case RunResumed():
            return {"activity_kind": "", "status": "waiting" if row.pending_requests else "running"}
        case RunEnded(status=status):
            return {"status": STATUS_AFTER_END[status], "pending_requests": 0}
        case SessionForked(forked_from=origin):
            return {"forked_from": origin}
        case RunRated(run_number=number, rating=rating, by=by) if number == max(row.runs, entry.run):
            return {"rating" if by == "user" else "check_rating": rating}
        case _:
            return {}


def _metadata_changes(event: SessionMetadataEvent, at: int) -> dict[str, Any]:
    match event:
        case SessionRenamed(title=title):
            return {"title": first_line(title)}
        case SessionPinned(pinned=pinned):
            return {"pinned": at if pinned else 0}
        case SessionArchived(archived=archived):
            return {"archived": at if archived else 0}
        case SessionTrashed(trashed=trashed):
            return {"trashed": at if trashed else 0}
        case _:
            return {}
