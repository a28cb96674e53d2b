"""Why a tool call was allowed, and which memories and skills were in the context when the model made it."""

from collections.abc import Iterable
from typing import Any, Final, Protocol

from core.domain.steps import Step
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


class EventSource(StepSource, Protocol):
    """The data source: rows of a session, and its events of given kinds as JSON objects."""

    def events_of(
        self, session: str, kinds: Iterable[str], after: int, until: int, limit: int = 1_000
    ) -> list[dict[str, Any]]: ...

    def memory_ratings(self, session: str, run: int) -> dict[str, tuple[bool, str]]: ...


def provenance_facts(rows: EventSource, session: str, step: Step) -> list[tuple[str, str]]:
    """Return labeled facts on why a step could happen.

    Steps that recall memories or load skills have none, because their rows already show them.
    """
    if kind_style(step.kind).shape != "work" or step.kind in {"memory", "skill"}:
        return []
    lines = rows.events_of(
        session, PROVENANCE_KINDS, max(0, step.first_seq - SEARCHED_EVENTS), step.first_seq, MAX_EVENTS
    )
    own_lines = [line for line in lines if line["run"] == step.run]
    facts = [(translate("Allowed by"), _allowed(own_lines, step.key))]
    memories = [item for line in own_lines if line["kind"] == "memories_recalled" for item in line["memories"]]
    if memories:
        texts = [f"“{visible(str(item['text']))}”" for item in memories[:MAX_MEMORIES]]
        if more := len(memories) - MAX_MEMORIES:
            texts += [translate("and {} more").format(more)] * (more > 0)
        facts.append((translate("Memory"), "\n".join(texts)))
    skills = dict.fromkeys(visible(str(line["name"])) for line in own_lines if line["kind"] == "skill_used")
    facts.append((translate("Skills"), ", ".join(skills)))
    return [(name, text) for name, text in facts if text]


def _allowed(lines: list[dict[str, Any]], call: str) -> str:
    """Return what allowed a tool call: a rule, a mode, or the user with the scope of the approval; "" if unknown."""
    request = ""
    for line in lines if call else ():
        if line["kind"] == "call_allowed" and line.get("call_id") == call:
            return visible(str(line.get("reason") or ""))
        if line["kind"] == "permission_requested" and line["request"].get("call_id") == call:
            request = str(line["request"]["id"])
        if line["kind"] == "permission_decided" and request and line["request_id"] == request and line["allowed"]:
            decided_by = str(line.get("decided_by") or "user")
            decider = translate("you") if decided_by == "user" else visible(decided_by)
            changes = ", " + translate("with your changes") if (line.get("arguments") or {}).get("head") else ""
            return f"{decider}, {translate(str(line.get('scope') or 'once'))}{changes}"
    return ""
