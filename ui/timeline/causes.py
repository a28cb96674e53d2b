"""Why a call was let happen, and what the model had been told of memory when it made it."""

from collections.abc import Iterable
from typing import Any, Final, Protocol

from core.domain.steps import Step
from ui.looks import kind_look, words
from ui.timeline.pages import Rows
from ui.visible import visible

BEFORE: Final = 200  # entries before a step among which its causes stand
MOST: Final = 1_000
NAMED: Final = 3
KINDS: Final = ("call_allowed", "consent_asked", "consent_given", "memory_recalled", "skill_used")


class CauseRows(Rows, Protocol):
    """Rows, and lines of the journal by their kinds."""

    def lines(
        self, session: str, kinds: Iterable[str], after: int, until: int, most: int = 1_000
    ) -> list[dict[str, Any]]: ...


def causes(rows: CauseRows, session: str, step: Step) -> list[tuple[str, str]]:
    """Facts for the pane of a step of work; the rows of memory and skills say theirs themselves."""
    if kind_look(step.kind).shape != "work" or step.kind in {"memory", "skill"}:
        return []
    lines = rows.lines(session, KINDS, max(0, step.first - BEFORE), step.first, MOST)
    mine = [line for line in lines if line["run"] == step.run]
    found = [(words("Allowed by"), _allowed(mine, step.key))]
    memories = [item for line in mine if line["kind"] == "memory_recalled" for item in line["items"]]
    if memories:
        texts = [f"“{visible(str(item['text']))}”" for item in memories[:NAMED]]
        if more := len(memories) - NAMED:
            texts += [words("and {} more").format(more)] * (more > 0)
        found.append((words("Memory"), "\n".join(texts)))
    skills = dict.fromkeys(visible(str(line["name"])) for line in mine if line["kind"] == "skill_used")
    found.append((words("Skills"), ", ".join(skills)))
    return [(name, said) for name, said in found if said]


def _allowed(lines: list[dict[str, Any]], call: str) -> str:
    """Of a call: the rule or the mode that spoke, or the person."""
    request = ""
    for line in lines if call else ():
        if line["kind"] == "call_allowed" and line.get("call_id") == call:
            return visible(str(line.get("cause") or ""))
        if line["kind"] == "consent_asked" and line["request"].get("call_id") == call:
            request = str(line["request"]["id"])
        if line["kind"] == "consent_given" and request and line["request_id"] == request and line["allowed"]:
            by = str(line.get("by") or "person")
            who = words("you") if by == "person" else visible(by)
            return f"{who}, {words(str(line.get('scope') or 'once'))}"
    return ""
