"""The facts a fork begins with: those of another session up to a point, and what closes them honestly."""

from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from typing import Any, Literal, cast

from core.domain.consent import ConsentAsked
from core.domain.events import (
    Entry,
    Replied,
    RunEnded,
    RunEvent,
    RunInterrupted,
    RunPaused,
    RunResumed,
    RunStarted,
    SessionForked,
    SessionOpened,
    ToolReturned,
)
from core.domain.filing import SessionArchived, SessionPinned, SessionTrashed
from core.domain.question import QuestionAsked
from core.domain.text import Text
from core.engine.conversation import Conversation
from core.engine.imported import distrusted

Why = Literal["fork", "edit", "model"]
NAMED = frozenset({"question_id", "request_id"})
ASKED = frozenset({"question", "request"})
OPENING = (RunStarted, RunResumed, RunPaused, RunInterrupted, Replied, QuestionAsked, ConsentAsked)
CUT = Text("[This call was running where the session was forked. How it ended is known in the other session only.]")
ENDED = "forked here; the run went on in the other session"


def fork_facts(entries: Iterable[Entry], name: str, seq: int, why: Why, now: int) -> list[tuple[int, RunEvent]]:
    """Everything up to `seq` with its times, then where it came from, then the end of what was open."""
    facts: list[tuple[int, RunEvent]] = []
    talk, going, origin, source = Conversation(), False, "", ""
    for entry in entries:
        if entry.seq > seq:
            break
        origin = origin or entry.session
        if isinstance(entry.event, SessionOpened):
            source = entry.event.source
        event = copied(distrusted(entry.event, source) if source else entry.event, origin, name)
        talk.hear(replace(entry, event=event))
        going = (going or isinstance(event, OPENING)) and not isinstance(event, RunEnded)
        facts.append((entry.at, event))
    if not facts or not isinstance(facts[0][1], SessionOpened):  # a session that lost its beginning
        facts.insert(0, (facts[0][0] if facts else now, SessionOpened(name, "", origin)))
    facts.append((now, SessionForked(origin, seq, why)))
    facts += [(now, ToolReturned(call, CUT, failed=True)) for call in talk.doubted()]
    if going:
        facts.append((now, RunEnded("stopped", ENDED)))
    return facts


def copied(event: RunEvent, origin: str, name: str) -> RunEvent:
    """The same fact in another session. What is asked there has an id of its own: answers must not meet."""
    if isinstance(event, SessionPinned | SessionArchived | SessionTrashed):
        return type(event)(False)  # where the other one is kept says nothing of this one; entries name each other
    if isinstance(event, SessionOpened):
        own: dict[str, Any] = {"parent": "", "parent_call": "", "called": "", "depth": 0, "source": ""}
        return replace(event, session_id=name, **own)  # the person's own
    changes: dict[str, Any] = {}
    for field in fields(event):
        value = getattr(event, field.name)
        if field.name in NAMED:
            changes[field.name] = _renamed(value, origin, name)
        elif field.name in ASKED and is_dataclass(value) and hasattr(value, "id"):
            changes[field.name] = replace(cast(Any, value), id=_renamed(value.id, origin, name))
    return replace(event, **changes) if changes else event


def _renamed(asked: str, origin: str, name: str) -> str:
    """Ids of questions begin with their session. One that does not is told apart all the same."""
    return f"{name}-{asked.removeprefix(f'{origin}-')}"
