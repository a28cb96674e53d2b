"""Builds the details of a step for the step pane from the events of the step."""

import json
from typing import Any, NamedTuple

from core.domain.steps import Step
from ui.base.step_presentation import badges, kind_style, status_style, translate
from ui.style.number_formats import amount, duration, money, size, time_of_day
from ui.timeline.step_pages import StepSource
from ui.timeline.step_provenance import EventSource, provenance_facts

TEXT_LIMIT = 1_200
SEARCHED_ROWS = 60

OUTPUT_FIELDS = {
    "tool_returned": ("output",),
    "background_command_ended": ("output",),
    "replied": ("reasoning", "text"),
    "reply_interrupted": ("text",),
    "user_message": ("text",),
    "queue_changed": ("text",),
    "call_refused": ("reason",),
    "hook_ran": ("output",),
    "context_compacted": ("summary",),
}


class TextSource(NamedTuple):
    """The event and field that hold the long text of a step; `size` is its length in bytes."""

    seq: int
    field: str
    size: int


class StepDetails(NamedTuple):
    title: str
    full_object: str
    facts: list[tuple[str, str]]
    output_source: TextSource | None
    events_json: str


def describe_step(rows: EventSource, session: str, step: Step, lasted: int) -> StepDetails:
    """Return the details of a step, except its long text. `lasted` is the duration of the step in microseconds."""
    entries = [entry for seq in sorted({step.first_seq, step.last_seq}) if (entry := rows.event(session, seq))]
    title = translate(kind_style(step.kind).title)
    if step.number:
        title = f"{translate('Step')} {step.number} · {title}"
    elif step.kind == "run":
        title = f"{title} {step.run}"
    facts = [("Status" if step.status == "waiting" else "Result", _result(step)), ("Started", _started(step, lasted))]
    facts += [fact for entry in entries for fact in _event_facts(entry)]
    facts += [fact for entry in entries if entry.get("kind") == "memories_recalled" for fact in _recalled(rows, entry)]
    facts += provenance_facts(rows, session, step)
    facts.append(("Thinking", _thinking(rows, session, step)))
    return StepDetails(
        title,
        _block(step, entries),
        [(translate(name), text) for name, text in facts if text],
        _output(step, entries),
        json.dumps(entries, indent=2, ensure_ascii=False),
    )


def _result(step: Step) -> str:
    parts = [translate(status_style(step.status).label).lower(), *(badge.text for badge in badges(step))]
    if step.kind == "command" and step.metrics.get("bytes"):
        parts.append(size(step.metrics["bytes"]))
    if step.tokens:
        parts.append(f"{amount(step.tokens)} {translate('tok in total')}")
    if step.cost and step.kind != "thinking":
        parts.append(money(step.cost))
    return " · ".join(parts)


def _started(step: Step, lasted: int) -> str:
    lasted_text = duration(lasted)
    return (
        f"{time_of_day(step.started_at)}, {translate('took')} {lasted_text}"
        if lasted_text
        else time_of_day(step.started_at)
    )


def _block(step: Step, entries: list[dict[str, Any]]) -> str:
    """Return the full object of a step, such as a command, which the row of the step may show shortened."""
    for entry in entries:
        if entry.get("kind") == "call_started" and isinstance(entry.get("object"), str):
            return str(entry["object"]) or step.object
        if entry.get("kind") == "question_asked":
            return str(entry.get("question", {}).get("text", "")) or step.object
        if entry.get("kind") == "permission_requested":
            return str(entry.get("request", {}).get("object", "")) or step.object
    return step.object


def _event_facts(entry: dict[str, Any]) -> list[tuple[str, str]]:
    """Return labeled facts that only this kind of event has."""
    match entry.get("kind"):
        case "question_asked":
            question = entry.get("question") or {}
            options = [str(option.get("label", "")) for option in question.get("options") or []]
            return [("Reason", str(question.get("reason") or "")), ("Options", "\n".join(options))]
        case "permission_requested":
            request = entry.get("request") or {}
            return [("Tool", str(request.get("tool") or "")), ("Reason", str(request.get("reason") or ""))]
        case "question_answered":
            answer = entry.get("answer") or {}
            text = ": ".join(part for part in (answer.get("option"), answer.get("text")) if part)
            return [("Answer", translate("declined") if answer.get("declined") else text)]
        case "request_sent":
            return [("Model", str(entry.get("model") or "")), ("Turn", str(entry.get("turn") or ""))]
        case "run_started":
            return [("Model", str(entry.get("model") or "")), ("Limit", _turn_limit(entry.get("max_turns")))]
        case "replied":
            reply_text = entry.get("written") or {}
            return [("Cost", _cost(entry)), ("Reply as written", str(reply_text.get("head") or "")[:TEXT_LIMIT])]
        case "call_refused" | "call_started":
            return [("Tool", str(entry.get("tool") or ""))]
        case "request_retried" | "run_ended" | "run_paused":
            error = entry.get("error") or {}
            parts = [("Error", error.get("message")), ("Cause", error.get("cause")), ("Fix", error.get("fix"))]
            return [("Reason", str(entry.get("reason") or "")), *((name, str(text or "")) for name, text in parts)]
        case "background_command_ended":
            return [("Cause", str(entry.get("reason") or ""))]
        case "context_compacted":
            truncated, compacted = len(entry.get("truncated_calls") or ()), int(entry.get("compacted_messages") or 0)
            removed = [f"{truncated} {translate('results truncated')}"] * bool(truncated)
            removed += [f"{compacted} {translate('messages summarized')}"] * bool(compacted)
            return [("Cause", str(entry.get("reason") or "")), ("Removed", " · ".join(removed))]
        case "skill_used":
            return [("Skill", str(entry.get("name") or "")), ("Version", str(entry.get("version") or ""))]
        case "proposal_created":
            proposal_text = entry.get("text") or {}
            return [
                ("Proposal", str(proposal_text.get("head") or "")[:TEXT_LIMIT]),
                ("Reason", str(entry.get("reason") or "")),
            ]
        case "reply_interrupted" | "run_interrupted":
            return [("Cause", str(entry.get("reason") or ""))]
        case _:
            return []


def _cost(reply: dict[str, Any]) -> str:
    """Return the price of a reply; empty if it used no tokens."""
    cost, usage = reply.get("cost"), reply.get("usage") or {}
    if cost is None:
        return translate("unknown") if usage.get("input") or usage.get("output") else ""
    return money(float(cost))


def _recalled(rows: EventSource, entry: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the memories that were added to the context, each with the reason for its selection and its rating."""
    facts, ratings = [], rows.memory_ratings(str(entry.get("session") or ""), int(entry.get("run") or 0))
    for item in entry.get("memories") or ():
        notes = [str(item.get("reason") or ""), _memory_effect(ratings.get(str(item.get("memory_id") or "")))]
        note = "; ".join(part for part in notes if part)
        facts.append((str(item.get("kind") or "").capitalize(), f"{item.get('text')}{f' ({note})' if note else ''}"))
    if omitted := int(entry.get("omitted") or 0):
        facts.append(("Left out for space", f"{omitted:,}"))
    return facts


def _memory_effect(rating: tuple[bool, str] | None) -> str:
    """Return whether the agent used a memory, and how the user rated the run; "" without a rating."""
    if rating is None:
        return ""
    used, run_rating = rating
    rated = {"good": translate("the run was rated good"), "bad": translate("the run was rated bad")}.get(run_rating)
    return ", ".join([translate("used") if used else translate("not used"), *([rated] if rated else [])])


def _turn_limit(limit: object) -> str:
    return f"{limit} {translate('turns')}" if limit else ""


def _thinking(rows: StepSource, session: str, step: Step) -> str:
    """Return the reasoning in the reply that led to this step; if there is none, the text of the reply."""
    if kind_style(step.kind).shape != "work" or step.kind == "thinking":
        return ""
    first = max(0, step.row - SEARCHED_ROWS)
    for earlier in reversed(rows.steps(session, first, step.row - first)):
        if earlier.kind == "thinking" and earlier.status == "done":
            for field in ("reasoning", "text"):
                if text := rows.full_text(session, earlier.last_seq, field, TEXT_LIMIT + 1).strip():
                    return text if len(text) <= TEXT_LIMIT else text[:TEXT_LIMIT] + "…"
            return ""
    return ""


def _output(step: Step, entries: list[dict[str, Any]]) -> TextSource | None:
    """Return where the last long text among the events of the step is stored; None if there is none."""
    for entry in reversed(entries):
        fields = OUTPUT_FIELDS.get(str(entry.get("kind")), ())
        for field in reversed(fields) if step.kind == "reply" else fields:
            text = entry.get(field) or {}
            head = str(text.get("head", ""))
            if head:
                return TextSource(int(entry["seq"]), field, int(text.get("size") or len(head.encode())))
    return None
