"""Builds the details of a step for the step pane from the events of the step."""

import json
from typing import Any, NamedTuple

from core.domain.steps import Step
from core.store.reader import RecallOutcome
from ui.base.step_presentation import badges, kind_style, status_style, translate
from ui.style.number_formats import amount, duration, money, size, time_of_day
from ui.timeline.step_pages import StepSource
from ui.timeline.step_provenance import EventSource, Fact, provenance_facts

TEXT_LIMIT = 1_200  # characters of a long text that are shown as a fact
SEARCHED_ROWS = 60  # rows before a step in which the reply that led to it is searched

# The fields of each kind of event that may hold the long text of a step. The first one is preferred; for the step of a
# reply, the last one.
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
    facts: list[Fact]
    output_source: TextSource | None
    events_json: str


def describe_step(rows: EventSource, session: str, step: Step, lasted: int) -> StepDetails:
    """Return the details of a step, except its long text. `lasted` is the duration of the step in microseconds."""
    events = [event for seq in sorted({step.first_seq, step.last_seq}) if (event := rows.event(session, seq))]
    title = translate(kind_style(step.kind).title)
    if step.number:
        title = f"{translate('Step')} {step.number} · {title}"
    elif step.kind == "run":
        title = f"{title} {step.run}"
    facts = [
        Fact("Status" if step.status == "waiting" else "Result", _result(step)),
        Fact("Started", _started(step, lasted)),
    ]
    for event in events:
        facts += _event_facts(event)
    for event in events:
        if event.get("kind") == "memories_recalled":
            facts += _recalled_memories(rows, event)
    facts += provenance_facts(rows, session, step)
    facts.append(Fact("Thinking", _thinking(rows, session, step)))
    return StepDetails(
        title=title,
        full_object=_full_object(step, events),
        facts=[Fact(translate(fact.label), fact.text) for fact in facts if fact.text],
        output_source=_output_source(step, events),
        events_json=json.dumps(events, indent=2, ensure_ascii=False),
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
    started = time_of_day(step.started_at)
    lasted_text = duration(lasted)
    return f"{started}, {translate('took')} {lasted_text}" if lasted_text else started


def _full_object(step: Step, events: list[dict[str, Any]]) -> str:
    """Return the full object of a step, such as a command, which the row of the step may show shortened."""
    for event in events:
        match event:
            case {"kind": "call_started", "object": str(full_object)}:
                return full_object or step.object
            case {"kind": "question_asked"}:
                return _text(event.get("question"), "text") or step.object
            case {"kind": "permission_requested"}:
                return _text(event.get("request"), "object") or step.object
            case _:
                pass
    return step.object


def _event_facts(event: dict[str, Any]) -> list[Fact]:
    """Return the facts that only this kind of event has. The texts of some may be empty."""
    reason = _text(event, "reason")
    match event.get("kind"):
        case "question_asked":
            question = event.get("question") or {}
            options = [_text(option, "label") for option in question.get("options") or ()]
            return [Fact("Reason", _text(question, "reason")), Fact("Options", "\n".join(options))]
        case "permission_requested":
            request = event.get("request")
            return [Fact("Tool", _text(request, "tool")), Fact("Reason", _text(request, "reason"))]
        case "question_answered":
            return [Fact("Answer", _answer_text(event.get("answer") or {}))]
        case "request_sent":
            return [Fact("Model", _text(event, "model")), Fact("Turn", _text(event, "turn"))]
        case "run_started":
            return [Fact("Model", _text(event, "model")), Fact("Limit", _turn_limit(event.get("max_turns")))]
        case "replied":
            return [Fact("Cost", _cost(event)), Fact("Reply as written", _stored_text(event, "written"))]
        case "call_refused" | "call_started":
            return [Fact("Tool", _text(event, "tool"))]
        case "request_retried" | "run_ended" | "run_paused":
            error = event.get("error")
            return [
                Fact("Reason", reason),
                Fact("Error", _text(error, "message")),
                Fact("Cause", _text(error, "cause")),
                Fact("Fix", _text(error, "fix")),
            ]
        case "context_compacted":
            return [Fact("Cause", reason), Fact("Removed", _removed_text(event))]
        case "skill_used":
            return [Fact("Skill", _text(event, "name")), Fact("Version", _text(event, "version"))]
        case "proposal_created":
            return [Fact("Proposal", _stored_text(event, "text")), Fact("Reason", reason)]
        case "background_command_ended" | "reply_interrupted" | "run_interrupted":
            return [Fact("Cause", reason)]
        case _:
            return []


def _text(record: dict[str, Any] | None, name: str) -> str:
    """Return a field of a record as text; an empty string if the record or the field is missing."""
    return str((record or {}).get(name) or "")


def _stored_text(event: dict[str, Any], name: str) -> str:
    """Return the beginning of a long text, of which the event itself contains only the head."""
    return _text(event.get(name), "head")[:TEXT_LIMIT]


def _answer_text(answer: dict[str, Any]) -> str:
    if answer.get("declined"):
        return translate("declined")
    return ": ".join(filter(None, (_text(answer, "option"), _text(answer, "text"))))


def _removed_text(compaction: dict[str, Any]) -> str:
    """Return what a compaction removed from the context."""
    parts = []
    if truncated := len(compaction.get("truncated_calls") or ()):
        parts.append(f"{truncated} {translate('results truncated')}")
    if summarized := int(compaction.get("compacted_messages") or 0):
        parts.append(f"{summarized} {translate('messages summarized')}")
    return " · ".join(parts)


def _cost(reply: dict[str, Any]) -> str:
    """Return the price of a reply; empty if it used no tokens."""
    if (cost := reply.get("cost")) is not None:
        return money(float(cost))
    usage = reply.get("usage") or {}
    return translate("unknown") if usage.get("input") or usage.get("output") else ""


def _recalled_memories(rows: EventSource, event: dict[str, Any]) -> list[Fact]:
    """Return the memories that were added to the context, each with the reason for its selection and its rating."""
    facts = []
    outcomes = rows.recall_outcomes(_text(event, "session"), int(event.get("run") or 0))
    for memory in event.get("memories") or ():
        outcome = _outcome_text(outcomes.get(_text(memory, "memory_id")))
        notes = "; ".join(filter(None, (_text(memory, "reason"), outcome)))
        text = f"{memory.get('text')} ({notes})" if notes else str(memory.get("text"))
        facts.append(Fact(_text(memory, "kind").capitalize(), text))
    if omitted := int(event.get("omitted") or 0):
        facts.append(Fact("Left out for space", f"{omitted:,}"))
    return facts


def _outcome_text(outcome: RecallOutcome | None) -> str:
    """Return whether the agent used a memory, and how the run was rated; "" if the run has not ended yet."""
    if outcome is None:
        return ""
    usage = translate("used") if outcome.was_used else translate("not used")
    ratings = {"good": translate("the run was rated good"), "bad": translate("the run was rated bad")}
    rating = ratings.get(outcome.run_rating)
    return f"{usage}, {rating}" if rating else usage


def _turn_limit(limit: object) -> str:
    return f"{limit} {translate('turns')}" if limit else ""


def _thinking(rows: StepSource, session: str, step: Step) -> str:
    """Return the reasoning in the reply that led to this step; if there is none, the text of the reply."""
    if kind_style(step.kind).shape != "work" or step.kind == "thinking":
        return ""
    first = max(0, step.row - SEARCHED_ROWS)
    earlier_steps = reversed(rows.steps(session, first, step.row - first))
    replies = (earlier for earlier in earlier_steps if earlier.kind == "thinking" and earlier.status == "done")
    reply = next(replies, None)
    if reply is None:
        return ""
    for field in ("reasoning", "text"):
        if text := rows.full_text(session, reply.last_seq, field, TEXT_LIMIT + 1).strip():
            return text if len(text) <= TEXT_LIMIT else text[:TEXT_LIMIT] + "…"
    return ""


def _output_source(step: Step, events: list[dict[str, Any]]) -> TextSource | None:
    """Return where the last long text among the events of the step is stored; None if there is none."""
    for event in reversed(events):
        fields = OUTPUT_FIELDS.get(str(event.get("kind")), ())
        for field in reversed(fields) if step.kind == "reply" else fields:
            text = event.get(field) or {}
            head = str(text.get("head", ""))
            if head:
                return TextSource(int(event["seq"]), field, int(text.get("size") or len(head.encode())))
    return None
