"""Calls in existing sessions, which have former names of tools, parameters and values, are still read."""

import json
from typing import Any

import pytest

from core.domain.problems import Problem
from core.tools.catalogue import ENGINE_TOOLS, TOOLS, read_arguments, tool_named, tool_specs
from core.tools.former_names import PARAMETERS, VALUES, current_arguments
from core.tools.former_names import TOOLS as FORMER_TOOLS

FORMER: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "edit": ({"path": "a", "old": "x", "new": "y"}, {"path": "a", "old_string": "x", "new_string": "y"}),
    "manage_skill": (
        {"action": "patch", "name": "notes", "reason": "r", "old": "x", "new": "y"},
        {"action": "patch", "name": "notes", "reason": "r", "old_string": "x", "new_string": "y"},
    ),
    "todo": (
        {"items": [
            {"text": "open", "status": "open"}, {"text": "b", "status": "doing"}, {"text": "c", "status": "done"},
        ]},
        {"items": [
            {"text": "open", "status": "pending"}, {"text": "b", "status": "in_progress"},
            {"text": "c", "status": "completed"},
        ]},
    ),
    "ask_user": (
        {"questions": [{"question": "several?", "several": True}]},
        {"questions": [{"question": "several?", "multi_select": True}]},
    ),
    "delegate": (
        {"task": "t", "limits": {"turns": 3}, "schema": {"properties": {"turns": {"type": "integer"}}}},
        {"task": "t", "limits": {"turns": 3}, "schema": {"properties": {"turns": {"type": "integer"}}}},
    ),
    "recall_dropped": ({"id": "talk"}, {"id": "conversation"}),
    "report_problem": ({"severity": "low", "what": "w"}, {"severity": "low", "what": "w"}),
}  # fmt: skip


@pytest.mark.parametrize("tool", sorted(FORMER))
def test_calls_with_former_names_are_read(tool: str) -> None:
    former, current = FORMER[tool]
    assert current_arguments(tool, former) == current == current_arguments(tool, current)
    name = FORMER_TOOLS.get(tool, tool)
    assert read_arguments(tool, json.dumps(former)) == read_arguments(name, json.dumps(current))
    assert tool in ENGINE_TOOLS or tool_named(tool) is TOOLS[name]


def test_every_former_name_is_tried() -> None:
    assert {*FORMER_TOOLS, *(key[0] for key in (*PARAMETERS, *VALUES))} == set(FORMER)


def test_a_run_that_started_with_former_tools_has_the_current_ones() -> None:
    """The names of its tools are stored in the RunStarted event."""
    assert [each.name for each in tool_specs(("report_problem",))] == ["report_issue", "recall_dropped"]
    for tool in ("report_problem", "report_issue"):
        assert read_arguments(tool, '{"severity": "low", "what": "w"}', ("report_problem",)).what == "w"


def test_both_names_at_once_are_refused() -> None:
    with pytest.raises(Problem, match="old: unknown parameter"):
        read_arguments("edit", '{"path": "a", "old": "x", "old_string": "x", "new_string": "y"}')


@pytest.mark.parametrize(
    "arguments", [None, [], "old", 3, {"items": 3}, {"items": ["open"]}, {"items": {"status": []}}]
)
def test_arguments_of_another_form_are_unchanged(arguments: Any) -> None:
    assert current_arguments("todo", arguments) == arguments
