"""The schemas of the tools, and the reading of valid and invalid arguments."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.events import DecisionMade, IssueReported
from core.domain.problems import Problem
from core.models.token_estimate import estimate_tokens
from core.tools.catalogue import ENGINE_TOOLS, TOOLS, read_arguments, tool_names, tool_spec, tool_specs
from core.tools.more_tools import DEFERRED_TOOLS, MORE_TOOLS_NAME, enabled_tools
from core.tools.search_web import SEARCH_WEB
from tests.core.engine.harness import call_reply, open_engine, run_bounded, scripted_replies
from tests.core.tools.calls import call

GOOD: dict[str, dict[str, Any]] = {
    "read": {"path": "a", "start": 2},
    "write": {"path": "a", "content": ""},
    "edit": {"path": "a", "old_string": "x", "new_string": ""},
    "patch": {"diff": "x"},
    "find": {"pattern": "*"},
    "search": {"pattern": "x", "glob": "*.py"},
    "run": {"command": "ls", "timeout_s": 5, "background": True},
    "check": {"id": "r1c1", "wait_s": 1},
    "search_web": {"query": "damp mould"},
    "fetch": {"url": "https://example.org/"},
    "todo": {"items": [{"text": "a", "status": "in_progress"}]},
    "decide": {"intent": "i", "options": [{"label": "a", "pros": ["p"]}], "choice": "a", "reason": "r"},
    "report_issue": {"severity": "low", "what": "w"},
    "remember": {"kind": "heuristic", "when": "tests fail", "do": "read the log", "scope": "everywhere"},
    "recall": {"query": "tests"},
    "more_tools": {"names": ["decide", "patch"]},
    "forget": {"id": "abcdefg", "reason": "it is wrong"},
    "ask_user": {"question": "?", "options": [{"label": "a"}]},
    "delegate": {"task": "t", "tools": ["read"], "limits": {"turns": 3}, "schema": {"type": "integer"}},
    "check_agent": {"id": "r1c1", "message": "And then?", "wait_s": 5, "stop": False},
    "search_sessions": {"query": "words", "session": "", "event": 0},
    "recall_dropped": {"id": "r1c1", "start": 2, "end": 9},
    "use_skill": {"name": "code-review", "file": "references/more.md"},
    "manage_skill": {"action": "patch", "name": "code-review", "reason": "r", "old_string": "x", "new_string": "y"},
}


def test_every_tool_describes_its_arguments() -> None:
    """L-B1: every tool can be imported and is offered to the model."""
    assert {each.name for each in tool_specs()} == set(GOOD) == {*TOOLS, *ENGINE_TOOLS}
    for each in tool_specs():
        text = json.dumps(each.parameters)
        assert each.parameters["type"] == "object" and each.parameters["properties"]
        assert "$ref" not in text and "$defs" not in text and len(each.description) > 20
        assert len(each.description) < 300 or each.name == MORE_TOOLS_NAME, "that of more_tools lists other tools"
        assert read_arguments(each.name, json.dumps(GOOD[each.name]))


def test_the_policy_can_read_what_a_call_affects() -> None:
    """It reads files, commands and addresses from these parameters; a web search has only the host of its engine."""
    parameter = {"read": "path", "write": "path", "execute": "command", "network": "url"}
    for tool in TOOLS.values():
        if tool.access != "none" and not tool.paths and tool is not SEARCH_WEB:
            assert parameter[tool.access] in {each.name for each in fields(tool.parameters)}, tool.name


def undescribed(node: Any, path: str) -> list[str]:
    """Return the parameters at any depth of a schema that have no description."""
    found = []
    for name, inner in node.get("properties", {}).items():
        found += [] if inner.get("description") else [f"{path}.{name}"]
        found += undescribed(inner, f"{path}.{name}") + undescribed(inner.get("items", {}), f"{path}.{name}[]")
    return found


def test_every_parameter_has_a_description() -> None:
    assert [path for each in tool_specs() for path in undescribed(each.parameters, each.name)] == []


def offered(*enabled: str, compacted: bool = False) -> list[str]:
    return [each.name for each in tool_specs(tool_names(), enabled, compacted=compacted)]


def test_rarely_used_tools_are_offered_once_they_are_enabled_or_needed() -> None:
    assert not DEFERRED_TOOLS.keys() & set(offered()) and "recall_dropped" not in offered()
    assert set(offered("decide", "patch")) - set(offered()) == {"decide", "patch"}
    assert set(offered(compacted=True)) - set(offered()) == {"recall_dropped"}
    enabled = call(Path(), "more_tools", names=["decide", "patch"])
    assert not enabled.failed and "decide and patch" in enabled.output
    assert enabled_tools('{"names": ["decide", "patch"]}') == {"decide", "patch"}
    assert "The tools are: patch, decide" in call(Path(), "more_tools", names=["read"]).output


def test_more_tools_names_only_tools_of_the_run() -> None:
    spec = next(each for each in tool_specs(("read", "more_tools", "decide")) if each.name == "more_tools")
    assert "decide" in spec.description and "delegate" not in spec.description
    assert "more_tools" not in {each.name for each in tool_specs(("read", "decide"))}
    assert "decide" in {each.name for each in tool_specs(("read", "decide"))}  # without more_tools, nothing is deferred


def test_the_tool_definitions_of_a_request_are_short() -> None:
    """Every request has them. With limits, defaults and all tools they would take 3,886 tokens by this estimate."""
    sent = (
        {"name": each.name, "description": each.description, "parameters": each.parameters}
        for each in tool_specs(tool_names(), compacted=False)
    )
    tokens = sum(estimate_tokens(json.dumps(each, ensure_ascii=False)) for each in sent)
    assert tokens < 1_950, "Add a tool that few runs need to DEFERRED_TOOLS."


def test_an_optional_parameter_may_be_left_out_or_null() -> None:
    schema = tool_spec(TOOLS["run"]).parameters["properties"]["timeout_s"]
    assert (schema["type"], "default" in schema, "anyOf" in schema) == ("number", False, False)
    for arguments in ('{"command": "ls"', '{"command": "ls", "timeout_s": null'):
        assert read_arguments("run", arguments + "}").timeout_s == 120
        assert read_arguments("run", arguments + ', "background": true}').timeout_s == 86_400


def test_a_schema_as_a_model_sees_it() -> None:
    assert tool_spec(TOOLS["find"]).parameters == {
        "type": "object",
        "required": ["pattern"],
        "properties": {
            "pattern": {
                "type": "string", "description": "Glob, such as *.py or src/**/test_*.py",
            },
            "path": {
                "type": "string", "description": "Folder to search; default: all.",
            },
        },
    }  # fmt: skip
    todo = tool_spec(TOOLS["todo"]).parameters["properties"]["items"]["items"]
    assert todo["properties"]["status"]["enum"] == ["pending", "in_progress", "completed"]


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("read", '{"path": 1}', "valid string"),
        ("read", '{"path": "a", "start": "1"}', "valid integer"),
        ("read", '{"path": "a", "start": true}', "valid integer"),
        ("read", '{"path": "a", "start": 1.5}', "valid integer"),
        ("read", '{"pth": "a"}', "did you mean 'path'"),
        ("read", "{}", "path: required"),
        ("read", '{"path": "a", "path": "b"}', "'path' is given twice"),
        ("read", '{"path": "a"', "not valid JSON"),
        ("read", '["a"]', "arguments"),
        ("read", "null", "arguments"),
        ("run", '{"command": "ls", "timeout_s": NaN}', "NaN"),
        ("run", '{"command": "ls", "timeout_s": 1e999}', "too large"),
        ("read", '{"path": "a", "start": ' + "9" * 5000 + "}", "too long"),
        ("read", '{"path": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested"),
        ("read", '{"path": ' + "[" * 70 + "]" * 70 + "}", "nested"),
        ("find", '{"pattern": ""}', "at least 1"),
        ("todo", '{"items": [{"text": "a", "status": "later"}]}', "items.0.status"),
        ("todo", '{"items": [{"txt": "a"}]}', "did you mean 'text'"),
        ("decide", '{"intent": "i", "options": [], "choice": "a", "reason": "r"}', "at least 1"),
        ("raed", "{}", "Did you mean 'read'"),
    ],
)
def test_invalid_arguments_are_explained(tool: str, arguments: str, said: str) -> None:
    with pytest.raises(Problem) as caught:
        read_arguments(tool, arguments)
    assert said in str(caught.value) and len(str(caught.value)) < 700


def test_an_integer_may_have_a_decimal_point() -> None:
    assert read_arguments("read", '{"path": "a", "start": 5.0}').start == 5


@given(
    st.sampled_from(sorted(GOOD)), st.text(max_size=60) | st.recursive(st.none() | st.text(), st.lists).map(json.dumps)
)
def test_no_text_breaks_the_parser(tool: str, arguments: str) -> None:
    try:
        read_arguments(tool, arguments)
    except Problem as problem:
        assert problem.details.message


def test_the_list_of_tools(tmp_path: Path) -> None:
    done = call(
        tmp_path,
        "todo",
        items=[{"text": "a", "status": "completed"}, {"text": "b", "status": "in_progress"}, {"text": "c"}],
    )
    assert done.output == "[x] a\n[>] b\n[ ] c"
    two = [{"text": "a", "status": "in_progress"}, {"text": "b", "status": "in_progress"}]
    assert call(tmp_path, "todo", items=two).failed
    parameters = read_arguments("todo", json.dumps({"items": two[:1]}))
    assert TOOLS["todo"].describe(parameters) == "0 of 1 done: a"


def test_decisions_and_issues_are_events(tmp_path: Path) -> None:
    assert not call(tmp_path, "decide", **GOOD["decide"]).failed
    assert call(tmp_path, "decide", **{**GOOD["decide"], "choice": "b"}).failed
    for name, kind in (("decide", DecisionMade), ("report_issue", IssueReported)):
        make = TOOLS[name].event
        assert make and isinstance(make("r1c1", read_arguments(name, json.dumps(GOOD[name]))), kind)


def test_the_session_stores_a_decision_and_an_issue_as_they_were_stated(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            calls = [call_reply(name, **GOOD[name]) for name in ("decide", "report_issue")]
            events = await scene.events(await scene.run(scripted_replies(*calls, {"text": "done"})))
        (decision,) = [event for event in events if isinstance(event, DecisionMade)]
        assert (decision.intent, decision.choice, decision.reason) == ("i", "a", "r")
        assert [(option.label, tuple(option.pros)) for option in decision.options] == [("a", ("p",))]
        (issue,) = [event for event in events if isinstance(event, IssueReported)]
        assert (issue.severity, issue.description) == ("low", "w")

    run_bounded(main())
