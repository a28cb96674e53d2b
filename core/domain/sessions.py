"""Fold facts into the one line a person sees of a session in the list."""

from typing import Any, NamedTuple

from core.domain.consent import ConsentAsked, ConsentGiven, ModeSet
from core.domain.events import (
    ContextCompacted,
    DelegateEnded,
    Entry,
    ModelChosen,
    Replied,
    RequestSent,
    RunEnded,
    RunInterrupted,
    RunPaused,
    RunResumed,
    RunStarted,
    SessionForked,
    SessionOpened,
    VerdictGiven,
)
from core.domain.filing import Filing, SessionArchived, SessionPinned, SessionRenamed, SessionTrashed
from core.domain.question import QuestionAnswered, QuestionAsked
from core.domain.steps import Outline, Step, line

ENDINGS = {"completed": "done", "stopped": "stopped", "limit": "limit", "failed": "failed"}
NO_WORK = frozenset(
    {"run", "person", "fork", "verdict", "compaction", "hook"}
)  # rows that say nothing about what is being done
ASKING = frozenset({"question", "consent"})
UNJUDGED = {"verdict": "", "checked": ""}


class SessionRow(NamedTuple):
    """`status` is waiting, running, paused, done, failed, stopped, limit or interrupted.

    `doing` is the object of the last step and `doing_kind` its kind; while one waits for the person, of that one, and
    `updated` is when it was asked. `steps` are what a person counts, `rows` what is
    painted. `verdict` (up, down) is the person's on the last run, `checked` that of the task's own check; empty is
    unknown, whatever the status. `origin` is the session it was forked from, `mode` what the session asks about.
    `pinned`, `archived` and `trashed` are when a person did that, 0 where nobody did.
    `source` is where it was imported from; such a session is read only.
    One that a call of `parent` began has that call, the name it goes by there, and how deep it is.
    """

    id: str
    title: str = ""
    folder: str = ""
    model: str = ""
    status: str = "done"
    doing_kind: str = ""
    doing: str = ""
    opened: int = 0
    updated: int = 0
    seq: int = 0
    runs: int = 0
    rounds: int = 0
    max_rounds: int = 0
    waiting: int = 0
    rows: int = 0
    steps: int = 0
    tokens: int = 0
    cost: float = 0.0
    verdict: str = ""
    checked: str = ""
    origin: str = ""
    pinned: int = 0
    archived: int = 0
    trashed: int = 0
    mode: str = ""
    parent: str = ""
    parent_call: str = ""
    called: str = ""
    depth: int = 0
    source: str = ""


def fold_session(row: SessionRow, entry: Entry, changed: list[Step], outline: Outline) -> SessionRow:
    """The line after `entry`, which changed these rows and left the outline so."""
    if isinstance(entry.event, Filing):  # it stays where it is in the order of the list
        return row._replace(seq=entry.seq, **_filed(entry.event, entry.at))
    doing = changed[-1] if changed and changed[-1].kind not in NO_WORK else None
    row = row._replace(
        updated=max(entry.at, row.updated),
        seq=entry.seq,
        runs=max(row.runs, entry.run),
        rows=outline.rows,
        steps=outline.numbers,
        doing_kind=doing.kind if doing else row.doing_kind,
        doing=doing.object if doing else row.doing,
        **_changes(row, entry),
    )
    asking = [step for step in outline.open.values() if step.kind in ASKING] if row.status == "waiting" else []
    if asking:  # it is what the line tells until it is answered, and since when, whatever else happens
        row = row._replace(updated=asking[-1].began, doing_kind=asking[-1].kind, doing=asking[-1].object)
    return row


def _changes(row: SessionRow, entry: Entry) -> dict[str, Any]:
    """The fields that this kind of fact changes."""
    match entry.event:
        case SessionOpened(workspace=workspace, title=title, parent=parent, parent_call=call, called=called):
            begun_by = {"parent": parent, "parent_call": call, "called": line(called), "depth": entry.event.depth}
            seen = {"folder": workspace, "title": line(title), "opened": entry.at, "source": entry.event.source}
            return seen | begun_by
        case RunStarted(model=model, max_rounds=limit, mode=mode):
            begun = {"status": "running", "model": model, "max_rounds": limit, "rounds": 0, "waiting": 0, "mode": mode}
            return begun | UNJUDGED
        case ModeSet(mode=mode):
            return {"mode": mode}
        case RequestSent(round=number, role="" | "agent"):
            return {"rounds": number}
        case DelegateEnded(tokens=tokens, cost=cost):
            return {"tokens": row.tokens + tokens, "cost": row.cost + cost}
        case Replied(usage=usage, cost=cost) | ContextCompacted(usage=usage, cost=cost):
            return {"tokens": row.tokens + usage.input + usage.output, "cost": row.cost + (cost or 0.0)}
        case ModelChosen(model=model):
            return {"model": model}
        case QuestionAsked() | ConsentAsked():
            return {"status": "waiting", "waiting": row.waiting + 1}
        case QuestionAnswered() | ConsentGiven():
            left = max(0, row.waiting - 1)
            going_on = row.status == "waiting" and not left
            return {"status": "running" if going_on else row.status, "waiting": left}
        case RunInterrupted(calls=calls):
            return {"status": "waiting" if row.waiting and not calls else "interrupted"}
        case RunPaused():
            return {"status": "paused"}
        case RunResumed():
            return {"status": "waiting" if row.waiting else "running"}
        case RunEnded(status=status):
            return {"status": ENDINGS[status], "waiting": 0}
        case SessionForked(origin=origin):
            return {"origin": origin}
        case VerdictGiven(number=number, verdict=verdict, by=by) if number == row.runs:
            return {"verdict" if by == "person" else "checked": verdict}
        case _:
            return {}


def _filed(event: Filing, at: int) -> dict[str, Any]:
    match event:
        case SessionRenamed(title=title):
            return {"title": line(title)}
        case SessionPinned(pinned=yes):
            return {"pinned": at if yes else 0}
        case SessionArchived(archived=yes):
            return {"archived": at if yes else 0}
        case SessionTrashed(trashed=yes):
            return {"trashed": at if yes else 0}
        case _:
            return {}
