"""Arguments: each tool's schema, and all that does not fit it."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.events import DecisionMade, ProblemReported
from core.domain.problems import Problem
from core.tools.catalogue import OWN, TOOLS, read_arguments, spec, specs
from tests.core.tools.calls import call

GOOD: dict[str, dict[str, Any]] = {
    "read": {"path": "a", "start": 2},
    "write": {"path": "a", "content": ""},
    "edit": {"path": "a", "old": "x", "new": ""},
    "patch": {"diff": "x"},
    "find": {"pattern": "*"},
    "search": {"pattern": "x", "glob": "*.py"},
    "run": {"command": "ls", "timeout_s": 5, "background": True},
    "check": {"id": "r1c1", "wait_s": 1},
    "search_web": {"query": "damp mould"},
    "fetch": {"url": "https://example.org/"},
    "todo": {"items": [{"text": "a", "status": "doing"}]},
    "decide": {"intent": "i", "options": [{"label": "a", "pros": ["p"]}], "choice": "a", "reason": "r"},
    "report_problem": {"severity": "low", "what": "w"},
    "remember": {"kind": "heuristic", "when": "tests fail", "do": "read the log", "scope": "everywhere"},
    "recall": {"query": "tests"},
    "forget": {"id": "abcdefg", "reason": "it is wrong"},
    "ask_user": {"question": "?", "options": [{"label": "a"}]},
    "delegate": {"task": "t", "tools": ["read"], "limits": {"rounds": 3}, "schema": {"type": "integer"}},
    "recall_dropped": {"id": "r1c1", "start": 2, "end": 9},
    "use_skill": {"name": "code-review", "file": "references/more.md"},
    "manage_skill": {"action": "patch", "name": "code-review", "reason": "r", "old": "x", "new": "y"},
}


def test_every_tool_tells_what_it_takes() -> None:
    """L-B1: each can be imported, and each is offered."""
    assert {each.name for each in specs()} == set(GOOD) == {*TOOLS, *OWN}
    for each in specs():
        text = json.dumps(each.schema)
        assert each.schema["type"] == "object" and each.schema["additionalProperties"] is False
        assert "$ref" not in text and "$defs" not in text and 20 < len(each.description) < 200
        assert read_arguments(each.name, json.dumps(GOOD[each.name]))


def test_a_schema_as_a_model_sees_it() -> None:
    assert spec(TOOLS["find"]).schema == {
        "type": "object",
        "additionalProperties": False,
        "required": ["pattern"],
        "properties": {
            "pattern": {
                "type": "string", "minLength": 1, "maxLength": 1000,
                "description": "For example *.py or src/**/test_*.py",
            },
            "path": {
                "type": "string", "default": ".",
                "description": "The folder to look in; the whole one when left out.",
            },
        },
    }  # fmt: skip
    todo = spec(TOOLS["todo"]).schema["properties"]["items"]["items"]
    assert todo["additionalProperties"] is False and todo["properties"]["status"]["enum"] == ["open", "doing", "done"]


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("read", '{"path": 1}', "valid string"),
        ("read", '{"path": "a", "start": "1"}', "valid integer"),
        ("read", '{"path": "a", "start": true}', "valid integer"),
        ("read", '{"path": "a", "start": 1.5}', "valid integer"),
        ("read", '{"pth": "a"}', "did you mean 'path'"),
        ("read", "{}", "path: is missing"),
        ("read", '{"path": "a", "path": "b"}', "'path' is there twice"),
        ("read", '{"path": "a"', "no JSON"),
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
def test_what_does_not_fit_is_said(tool: str, arguments: str, said: str) -> None:
    with pytest.raises(Problem) as caught:
        read_arguments(tool, arguments)
    assert said in str(caught.value) and len(str(caught.value)) < 700


def test_a_whole_number_may_be_written_with_a_point() -> None:
    assert read_arguments("read", '{"path": "a", "start": 5.0}').start == 5


@given(
    st.sampled_from(sorted(GOOD)), st.text(max_size=60) | st.recursive(st.none() | st.text(), st.lists).map(json.dumps)
)
def test_no_text_breaks_the_reading(tool: str, arguments: str) -> None:
    try:
        read_arguments(tool, arguments)
    except Problem as problem:
        assert problem.trouble.what


def test_the_list(tmp_path: Path) -> None:
    done = call(
        tmp_path, "todo", items=[{"text": "a", "status": "done"}, {"text": "b", "status": "doing"}, {"text": "c"}]
    )
    assert done.output == "[x] a\n[>] b\n[ ] c"
    two = [{"text": "a", "status": "doing"}, {"text": "b", "status": "doing"}]
    assert call(tmp_path, "todo", items=two).failed
    parameters = read_arguments("todo", json.dumps({"items": two[:1]}))
    assert TOOLS["todo"].object(parameters) == "0 of 1 done: a"


def test_a_decision_and_a_problem_are_facts(tmp_path: Path) -> None:
    assert not call(tmp_path, "decide", **GOOD["decide"]).failed
    assert call(tmp_path, "decide", **{**GOOD["decide"], "choice": "b"}).failed
    for name, kind in (("decide", DecisionMade), ("report_problem", ProblemReported)):
        make = TOOLS[name].fact
        assert make and isinstance(make("r1c1", read_arguments(name, json.dumps(GOOD[name]))), kind)
