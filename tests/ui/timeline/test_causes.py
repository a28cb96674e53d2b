"""Why a call was let happen, and what of memory and skills the model had then."""

from typing import Any

from core.domain.steps import Step
from tests.ui.timeline.journals import ListedRows
from ui.timeline.causes import causes

RECALLED: dict[str, Any] = {
    "kind": "memory_recalled",
    "items": [{"text": f"Memory {number}"} for number in range(5)],
}


def told(rows: ListedRows, kind: str = "command", key: str = "c1") -> dict[str, str]:
    return dict(causes(rows, "s", Step(0, kind, "done", 0, number=1, key=key, run=1, first=20, last=22)))


def asked(given: dict[str, Any] | None) -> ListedRows:
    rows = ListedRows()
    rows.entries[10] = {"kind": "consent_asked", "request": {"id": "r1", "call_id": "c1"}}
    if given:
        rows.entries[12] = {"kind": "consent_given", "request_id": "r1", "allowed": True} | given
    return rows


def test_a_call_names_the_rule_or_the_person_that_allowed_it() -> None:
    rows = ListedRows()
    rows.entries[19] = {"kind": "call_allowed", "call_id": "c1", "cause": "your rule: pytest *"}
    assert told(rows) == {"Allowed by": "your rule: pytest *"}
    assert told(rows, key="c2") == {}
    assert told(asked({"scope": "run", "by": "person"})) == {"Allowed by": "you, run"}
    assert told(asked({"by": "accept edits"})) == {"Allowed by": "accept edits, once"}
    assert told(asked(None)) == {}


def test_what_was_recalled_and_used_before_it_is_named() -> None:
    rows = ListedRows()
    rows.entries[5] = RECALLED
    rows.entries[6] = {"kind": "skill_used", "name": "formal-letters", "version": 2}
    rows.entries[7] = {"kind": "skill_used", "name": "formal-letters", "version": 2}
    rows.entries[25] = {"kind": "skill_used", "name": "later", "version": 1}
    said = told(rows, kind="thinking", key="")
    assert said["Memory"].split("\n") == ["“Memory 0”", "“Memory 1”", "“Memory 2”", "and 2 more"]
    assert said["Skills"] == "formal-letters"
    assert told(rows, kind="memory") == {} and told(rows, kind="reply") == {}


def test_what_another_run_had_is_not_said() -> None:
    rows = ListedRows()
    rows.entries[5] = RECALLED | {"run": 0}
    assert told(rows) == {}
