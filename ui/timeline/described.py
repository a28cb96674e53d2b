"""What the step pane says about a step: plain words from its facts."""

import json
from typing import Any, NamedTuple

from core.domain.steps import Step
from ui.figures import amount, duration, size, time_of_day
from ui.looks import badges, kind_look, status_look, words
from ui.timeline.causes import CauseRows, causes
from ui.timeline.pages import Rows

WHY_LIMIT = 1_200
LOOK_BACK = 60

OUTPUTS = {
    "tool_returned": ("output",),
    "command_ended": ("output",),
    "replied": ("reasoning", "text"),
    "reply_cut": ("text",),
    "person_spoke": ("text",),
    "queue_changed": ("text",),
    "call_refused": ("reason",),
    "hook_ran": ("output",),
    "context_compacted": ("summary",),
}


class Source(NamedTuple):
    """Where the long text of a step is read from."""

    seq: int
    field: str
    size: int


class Described(NamedTuple):
    title: str
    block: str
    facts: list[tuple[str, str]]
    output: Source | None
    raw: str


def describe(rows: CauseRows, session: str, step: Step, lasted: int) -> Described:
    """Everything that the pane shows of a step, long text aside."""
    entries = [entry for seq in sorted({step.first, step.last}) if (entry := rows.entry(session, seq))]
    title = words(kind_look(step.kind).title)
    if step.number:
        title = f"{words('Step')} {step.number} · {title}"
    elif step.kind == "run":
        title = f"{title} {step.run}"
    facts = [("Result", _result(step)), ("Started", _started(step, lasted))]
    facts += [fact for entry in entries for fact in _told(entry)]
    facts += causes(rows, session, step)
    facts.append(("Why", _why(rows, session, step)))
    return Described(
        title,
        _block(step, entries),
        [(words(name), said) for name, said in facts if said],
        _output(step, entries),
        json.dumps(entries, indent=2, ensure_ascii=False),
    )


def _result(step: Step) -> str:
    parts = [words(status_look(step.status).word).lower(), *(badge.text for badge in badges(step))]
    if step.kind == "command" and step.marks.get("bytes"):
        parts.append(size(step.marks["bytes"]))
    if step.tokens:
        parts.append(f"{amount(step.tokens)} {words('tok in all')}")
    return " · ".join(parts)


def _started(step: Step, lasted: int) -> str:
    took = duration(lasted)
    return f"{time_of_day(step.began)}, {words('took')} {took}" if took else time_of_day(step.began)


def _block(step: Step, entries: list[dict[str, Any]]) -> str:
    """The whole of what the row names, where the row had to cut it."""
    for entry in entries:
        if entry.get("kind") == "call_started" and isinstance(entry.get("object"), str):
            return str(entry["object"]) or step.object
        if entry.get("kind") == "question_asked":
            return str(entry.get("question", {}).get("text", "")) or step.object
    return step.object


def _told(entry: dict[str, Any]) -> list[tuple[str, str]]:
    """Facts that only some kinds of entry hold."""
    match entry.get("kind"):
        case "question_asked":
            question = entry.get("question") or {}
            options = [str(option.get("label", "")) for option in question.get("options") or []]
            return [("Because", str(question.get("why") or "")), ("Options", "\n".join(options))]
        case "question_answered":
            answer = entry.get("answer") or {}
            said = ": ".join(part for part in (answer.get("option"), answer.get("text")) if part)
            return [("Answer", words("declined") if answer.get("declined") else said)]
        case "request_sent":
            return [("Model", str(entry.get("model") or "")), ("Round", str(entry.get("round") or ""))]
        case "run_started":
            return [("Model", str(entry.get("model") or "")), ("Limit", _rounds(entry.get("max_rounds")))]
        case "call_refused" | "call_started":
            return [("Tool", str(entry.get("tool") or ""))]
        case "retried" | "run_ended" | "run_paused":
            trouble = entry.get("trouble") or {}
            told = [("What", trouble.get("what")), ("Cause", trouble.get("why")), ("What to do", trouble.get("do"))]
            return [("Reason", str(entry.get("reason") or "")), *((name, str(said or "")) for name, said in told)]
        case "command_ended":
            return [("Cause", str(entry.get("why") or ""))]
        case "context_compacted":
            folded, dropped = len(entry.get("folded") or ()), int(entry.get("dropped") or 0)
            gone = [f"{folded} {words('results folded')}"] * bool(folded)
            gone += [f"{dropped} {words('messages summarised')}"] * bool(dropped)
            return [("Cause", str(entry.get("why") or "")), ("Dropped", " · ".join(gone))]
        case "memory_recalled":
            return _recalled(entry)
        case "skill_used":
            return [("Skill", str(entry.get("name") or "")), ("Version", str(entry.get("version") or ""))]
        case "proposal_made":
            wanted = entry.get("text") or {}
            return [("Wants", str(wanted.get("head") or "")[:WHY_LIMIT]), ("Reason", str(entry.get("reason") or ""))]
        case "reply_cut" | "run_interrupted":
            return [("Cause", str(entry.get("why") or ""))]
        case _:
            return []


def _recalled(entry: dict[str, Any]) -> list[tuple[str, str]]:
    """Which memories the model was told here, and why each."""
    facts = []
    for item in entry.get("items") or ():
        why = str(item.get("why") or "")
        facts.append((str(item.get("kind") or "").capitalize(), f"{item.get('text')}{f' ({why})' if why else ''}"))
    if left := int(entry.get("left") or 0):
        facts.append(("No room for", f"{left:,}"))
    return facts


def _rounds(limit: object) -> str:
    return f"{limit} {words('rounds')}" if limit else ""


def _why(rows: Rows, session: str, step: Step) -> str:
    """What the model thought before it did this."""
    if kind_look(step.kind).shape != "work" or step.kind == "thinking":
        return ""
    first = max(0, step.row - LOOK_BACK)
    for earlier in reversed(rows.steps(session, first, step.row - first)):
        if earlier.kind == "thinking" and earlier.status == "done":
            for field in ("reasoning", "text"):
                if said := rows.words(session, earlier.last, field, WHY_LIMIT + 1).strip():
                    return said if len(said) <= WHY_LIMIT else said[:WHY_LIMIT] + " …"
            return ""
    return ""


def _output(step: Step, entries: list[dict[str, Any]]) -> Source | None:
    """The last long text among the step's entries."""
    for entry in reversed(entries):
        for field in OUTPUTS.get(str(entry.get("kind")), ()):
            text = entry.get(field) or {}
            head = str(text.get("head", ""))
            if head:
                return Source(int(entry["seq"]), field, int(text.get("size") or len(head.encode())))
    return None
