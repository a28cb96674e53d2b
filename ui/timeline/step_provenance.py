"""Why a tool call was allowed, and which memories and skills were in the context when the model made it."""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple, Protocol

from core.domain.steps import Step
from core.store.reader import RecallOutcome
from ui.base.step_presentation import kind_style, translate
from ui.text.visible import visible
from ui.timeline.step_pages import StepSource

SEARCHED_EVENTS: Final = 200  # number of events before a step that are searched for approvals, memories and skills
MAX_EVENTS: Final = 1_000
MAX_MEMORIES: Final = 3
PROVENANCE_KINDS: Final = (
    "call_allowed",
    "permission_requested",
    "permission_decided",
    "memories_recalled",
    "skill_used",
)


class Fact(NamedTuple):
    """A labeled fact about a step, as the step pane lists it."""

    label: str
    text: str


class EventSource(StepSource, Protocol):
    """The data source: rows of a session, and its events of given kinds as JSON objects."""

    def events_of(
        self, session: str, kinds: Iterable[str], after: int, until: int, limit: int = 1_000
    ) -> list[dict[str, Any]]: ...

    def recall_outcomes(self, session: str, run: int) -> dict[str, RecallOutcome]: ...


def provenance_facts(rows: EventSource, session: str, step: Step) -> list[Fact]:
    """Return why a step could happen: what allowed it, and the memories and skills in the context.

    Steps that recall memories or load skills have none, because their rows already show them.
    """
    if kind_style(step.kind).shape != "work" or step.kind in {"memory", "skill"}:
        return []
    searched_from = max(0, step.first_seq - SEARCHED_EVENTS)
    events = rows.events_of(session, PROVENANCE_KINDS, searched_from, step.first_seq, MAX_EVENTS)
    run_events = [event for event in events if event["run"] == step.run]
    facts = (
        Fact(translate("Allowed by"), _allowed_by(run_events, step.key) if step.key else ""),
        Fact(translate("Memory"), "\n".join(_memory_lines(run_events))),
        Fact(translate("Skills"), ", ".join(_skill_names(run_events))),
    )
    return [fact for fact in facts if fact.text]


def _memory_lines(events: Iterable[dict[str, Any]]) -> list[str]:
    """Return a line for each of the first recalled memories, and one with the number of the others."""
    memories = [memory for event in events if event["kind"] == "memories_recalled" for memory in event["memories"]]
    lines = [f"“{visible(str(memory['text']))}”" for memory in memories[:MAX_MEMORIES]]
    if (more := len(memories) - MAX_MEMORIES) > 0:
        lines.append(translate("and {} more").format(more))
    return lines


def _skill_names(events: Iterable[dict[str, Any]]) -> Iterable[str]:
    return dict.fromkeys(visible(str(event["name"])) for event in events if event["kind"] == "skill_used")


def _allowed_by(events: Iterable[dict[str, Any]], call: str) -> str:
    """Return what allowed a tool call: a rule, a mode, or the user with the scope of the approval; "" if unknown."""
    request_id = None
    for event in events:
        match event["kind"]:
            case "call_allowed" if event.get("call_id") == call:
                return visible(str(event.get("reason") or ""))
            case "permission_requested" if event["request"].get("call_id") == call:
                request_id = event["request"]["id"]
            case "permission_decided" if event["request_id"] == request_id and event["allowed"]:
                return _approval_text(event)
    return ""


def _approval_text(decided: dict[str, Any]) -> str:
    decided_by = str(decided.get("decided_by") or "user")
    decider = translate("you") if decided_by == "user" else visible(decided_by)
    has_changes = (decided.get("arguments") or {}).get("head")
    changes = f", {translate('with your changes')}" if has_changes else ""
    return f"{decider}, {translate(str(decided.get('scope') or 'once'))}{changes}"
