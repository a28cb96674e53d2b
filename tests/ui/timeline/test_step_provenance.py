"""The step pane shows what allowed a call and which memories and skills were in the context."""

from typing import Any

from core.domain.steps import Step
from core.store.reader import RecallOutcome
from tests.ui.timeline.session_data import MemorySteps
from ui.timeline.step_details import describe_step
from ui.timeline.step_provenance import provenance_facts

RECALLED: dict[str, Any] = {
    "kind": "memories_recalled",
    "memories": [{"text": f"Memory {number}"} for number in range(5)],
}


def facts_of(rows: MemorySteps, kind: str = "command", key: str = "c1") -> dict[str, str]:
    return dict(
        provenance_facts(rows, "s", Step(0, kind, "done", 0, number=1, key=key, run=1, first_seq=20, last_seq=22))
    )


def with_permission(decision: dict[str, Any] | None) -> MemorySteps:
    rows = MemorySteps()
    rows.events[10] = {"kind": "permission_requested", "request": {"id": "r1", "call_id": "c1"}}
    if decision:
        rows.events[12] = {"kind": "permission_decided", "request_id": "r1", "allowed": True} | decision
    return rows


def test_allowed_call_names_the_rule_or_the_user() -> None:
    rows = MemorySteps()
    rows.events[19] = {"kind": "call_allowed", "call_id": "c1", "reason": "your rule: pytest *"}
    assert facts_of(rows) == {"Allowed by": "your rule: pytest *"}
    assert facts_of(rows, key="c2") == {}
    assert facts_of(with_permission({"scope": "run", "decided_by": "user"})) == {"Allowed by": "you, run"}
    assert facts_of(with_permission({"decided_by": "accept edits"})) == {"Allowed by": "accept edits, once"}
    assert facts_of(with_permission(None)) == {}


def test_earlier_memories_and_skills_are_named() -> None:
    rows = MemorySteps()
    rows.events[5] = RECALLED
    rows.events[6] = {"kind": "skill_used", "name": "formal-letters", "version": 2}
    rows.events[7] = {"kind": "skill_used", "name": "formal-letters", "version": 2}
    rows.events[25] = {"kind": "skill_used", "name": "later", "version": 1}
    facts = facts_of(rows, kind="thinking", key="")
    assert facts["Memory"].split("\n") == ["“Memory 0”", "“Memory 1”", "“Memory 2”", "and 2 more"]
    assert facts["Skills"] == "formal-letters"
    assert facts_of(rows, kind="memory") == {} and facts_of(rows, kind="reply") == {}


def test_memories_of_another_run_are_left_out() -> None:
    rows = MemorySteps()
    rows.events[5] = RECALLED | {"run": 0}
    assert facts_of(rows) == {}


def test_the_details_of_a_recall_say_whether_each_memory_helped() -> None:
    rows = MemorySteps(outcomes={"m1": RecallOutcome(True, "good"), "m2": RecallOutcome(False, "")})
    names = ("m1", "m2", "m3")
    memories = [{"memory_id": name, "kind": "knowledge", "text": name.upper(), "reason": "words"} for name in names]
    rows.events[3] = {"kind": "memories_recalled", "session": "s", "run": 1, "memories": memories}
    facts = describe_step(rows, "s", Step(0, "memory", "done", 0, run=1, first_seq=3, last_seq=3), 0).facts
    assert [text for name, text in facts if name == "Knowledge"] == [
        "M1 (words; used, the run was rated good)", "M2 (words; not used)", "M3 (words)",
    ]  # fmt: skip


def test_a_thought_shows_its_cost_and_an_unknown_one_is_not_zero() -> None:
    def cost_of(reply: dict[str, Any]) -> str:
        rows = MemorySteps()
        rows.events[2] = {"kind": "replied", "usage": {"input": 10, "output": 2}} | reply
        step = Step(0, "thinking", "done", 0, number=1, run=1, first_seq=2, last_seq=2, tokens=12)
        return dict(describe_step(rows, "s", step, 0).facts).get("Cost", "")

    assert cost_of({"cost": 0.0125}) == "$0.01" and cost_of({"cost": 0.0}) == "$0.00"
    assert cost_of({"cost": None}) == "unknown" and cost_of({"cost": None, "usage": {}}) == ""
