"""Decisions in a session, as the window shows them: what was chosen, by whom or by which rule, and why.

They are read from stored events as JSON. The window needs this module at startup, so it imports nothing slow.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from core.domain.modes import MODE_LABELS
from core.domain.refusals import text_for_user
from core.domain.untrusted_file import source_texts

EventJson = Mapping[str, Any]

DECISION_KINDS = (
    "permission_requested",
    "permission_decided",
    "call_allowed",
    "call_refused",
    "question_asked",
    "question_answered",
    "decision_made",
    "issue_reported",
    "untrusted_content_read",
    "limit_threshold_reached",
    "limit_raised",
    "run_paused",
    "context_compacted",
    "mode_changed",
    "harness_message",
    "request_retried",
)
ANSWERED_BY = {"user": "you", "earlier_answer": "an earlier answer", "no_questions": "the option --no-questions"}


@dataclass(frozen=True, slots=True)
class DecisionEntry:
    """A decision: what was chosen, by whom or by which rule, and why.

    `status` is the status of a step. `rule` has the IDs of the rules that decided or were saved, separated by spaces,
    so that the user can revoke them. `count` is greater than 1 if identical automatic approvals were merged into this
    entry.
    """

    seq: int
    run: int
    at: int
    kind: str
    what: str
    chosen: str = ""
    why: str = ""
    cause: str = ""
    status: str = "done"
    rule: str = ""
    options: tuple[tuple[str, str], ...] = ()
    constraints: tuple[str, ...] = ()
    call: str = ""
    count: int = 1


def text_head(text: Any) -> str:
    """Return the beginning of a stored text, which may be an object with the field `head`."""
    return str(text.get("head", "")) if isinstance(text, Mapping) else str(text or "")


def decision_of(line: EventJson) -> DecisionEntry | None:
    """Return the entry for a decision that an event records; None for any other event."""

    def entry(kind: str, what: str, **details: Any) -> DecisionEntry:
        return DecisionEntry(
            seq=int(line["seq"]),
            run=int(line.get("run", 0)),
            at=int(line.get("at", 0)),
            kind=kind,
            what=what,
            **details,
        )

    match line["kind"]:
        case "question_asked" | "question_answered":
            return _question(line, entry)
        case "permission_requested" | "permission_decided" | "call_allowed" | "call_refused":
            return _permission(line, entry)
        case "decision_made" | "issue_reported":
            return _agent_report(line, entry)
        case _:
            return _notice(line, entry)


def _question(line: EventJson, entry: Callable[..., DecisionEntry]) -> DecisionEntry | None:
    """Return the entry for a question or its answer."""
    match line["kind"]:
        case "question_asked":
            question = line.get("question") or {}
            options = tuple(
                (str(option.get("label", "")), str(option.get("description", "")))
                for option in question.get("options") or ()
            )
            text, reason = str(question.get("text", "")), str(question.get("reason", ""))
            return entry("question", text, why=reason, status="waiting", options=options)
        case "question_answered":
            answer = line.get("answer") or {}
            text = ": ".join(part for part in (answer.get("option"), answer.get("text")) if part)
            unanswered = answer.get("declined") or answer.get("expired")
            by = str(answer.get("answered_by", "user"))
            cause = ANSWERED_BY.get(by, by)
            return entry("question", text, chosen=text, status="stopped" if unanswered else "done", cause=cause)
        case _:
            return None


def _permission(line: EventJson, entry: Callable[..., DecisionEntry]) -> DecisionEntry | None:
    """Return the entry for a permission request, its decision, or the automatic decision about a call."""
    match line["kind"]:
        case "permission_requested":
            request = line.get("request") or {}
            text = f"{request.get('tool', '')} {request.get('object', '')}".strip()
            return entry("permission", text, why=str(request.get("reason", "")), status="waiting")
        case "permission_decided":
            allowed, scope = bool(line.get("allowed")), str(line.get("scope", "once"))
            by = str(line.get("decided_by", "user"))
            changes = " with changes" if text_head(line.get("arguments")) else ""
            return entry(
                "permission",
                "",
                chosen=f"allowed {scope}{changes}" if allowed else "denied",
                why=text_head(line.get("reason")),
                status="done" if allowed else "stopped",
                cause="you" if by == "user" else _cause_text(by),
                rule=" ".join(line.get("rule_ids") or ()),
            )
        case "call_allowed":
            return entry(
                "allowed",
                "",
                chosen="allowed",
                cause=_cause_text(str(line.get("reason", ""))),
                rule=str(line.get("rule_id", "")),
                call=str(line.get("call_id", "")),
            )
        case "call_refused":
            tool, reason = str(line.get("tool", "")), text_head(line.get("reason"))
            return entry("refused", tool, chosen="refused", why=text_for_user(reason), status="failed")
        case _:
            return None


def _cause_text(cause: str) -> str:
    """Return the cause of an automatic decision. A mode gets the name that the window shows."""
    labels = (label for mode, label in MODE_LABELS.items() if cause == f"mode: {mode}")
    return next((f"the mode “{label}”" for label in labels), cause)


def _agent_report(line: EventJson, entry: Callable[..., DecisionEntry]) -> DecisionEntry | None:
    """Return the entry for a decision or an issue that the agent reported."""
    match line["kind"]:
        case "decision_made":
            choices = tuple(
                (str(option.get("label", "")), _option_text(option)) for option in line.get("options") or ()
            )
            limits = tuple(str(limit) for limit in line.get("constraints") or ())
            return entry(
                "decision",
                str(line.get("intent", "")),
                chosen=str(line.get("choice", "")),
                cause="the agent",
                why=str(line.get("reason", "")),
                options=choices,
                constraints=limits,
            )
        case "issue_reported":
            why = " · ".join(part for part in (line.get("cause"), line.get("fix")) if part)
            text, severity = str(line.get("description", "")), str(line.get("severity", ""))
            return entry("issue", text, chosen=severity, why=why, status="failed", cause="the agent")
        case _:
            return None


def _notice(line: EventJson, entry: Callable[..., DecisionEntry]) -> DecisionEntry | None:
    """Return the entry for an event that Journeyman itself caused; None for any other event."""
    match line["kind"]:
        case "untrusted_content_read":
            sources = source_texts([str(line.get("source", ""))])
            return entry("notice", f"Has read untrusted content: {', '.join(sources)}")
        case "limit_threshold_reached":
            text = f"{float(line.get('used', 0)):g} of {float(line.get('allowed', 0)):g} {line.get('limit', '')}"
            return entry("limit", text)
        case "limit_raised":
            return entry("limit", f"{line.get('limit', '')}: up to {float(line.get('allowed', 0)):g}", cause="you")
        case "run_paused":
            error = line.get("error") or {}
            return entry("notice", "Paused", why=str(error.get("message") or line.get("reason") or ""))
        case "harness_message":
            return entry("notice", "Told the agent to change its approach", why=str(line.get("reason", "")))
        case "request_retried":
            error = line.get("error") or {}
            return entry("notice", "Retried the request", why=str(error.get("message", "")))
        case "context_compacted":
            return entry("notice", "Compacted the context", why=str(line.get("reason", "")))
        case "mode_changed":
            return entry("notice", "Mode", chosen=str(line.get("mode", "")), cause="you")
        case _:
            return None


def _option_text(option: Mapping[str, Any]) -> str:
    """Return the pros, the cons and the confidence of an option as text."""
    parts = [f"+ {word}" for word in option.get("pros") or ()] + [f"− {word}" for word in option.get("cons") or ()]
    if (confidence := option.get("confidence", -1)) >= 0:
        parts.append(f"{confidence}% confident")
    return " · ".join(parts)
