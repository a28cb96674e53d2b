"""The arguments of a call are read, or refused with an error that the model can act on."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.problems import Problem
from core.tools.ask_user import AskUserArguments
from core.tools.catalogue import ASK, TOOLS, read_arguments, tool_specs
from core.tools.read import ReadArguments
from core.tools.run import RunArguments


def test_valid_arguments_are_read() -> None:
    assert read_arguments("read", '{"path": "a", "start": 2, "end": 3}') == ReadArguments("a", 2, 3)
    assert read_arguments("run", '{"command": "ls", "timeout_s": 3}') == RunArguments("ls", 3.0)
    asked = read_arguments(ASK, '{"question": "?", "options": [{"label": "A"}]}')
    assert isinstance(asked, AskUserArguments) and asked.options[0].label == "A"


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("reed", "{}", "Did you mean 'read'"),
        ("xyzzy", "{}", "The tools are: ask_user, check, check_agent, decide"),
        ("read", "{}", "path: "),
        ("read", "", "path: "),
        ("read", '{"path": "a"', "arguments"),
        ("read", "[]", "arguments"),
        ("read", '{"path": 3}', "path: "),
        ("read", '{"path": "a", "line": 3}', "line: "),
        ("read", '{"pth": "a"}', "pth: unknown parameter, did you mean 'path'"),
        ("read", '{"path": "a", "start": 0}', "start: "),
        ("read", '{"path": "a", "end": -5}', "end: "),
        ("search_sessions", '{"query": "a", "session": "s", "event": 9223372036854775808}', "event: "),
        ("read", '{"path": "a", "start": 1e999}', "start: |arguments"),
        ("write", '{"path": "a"}', "content: "),
        ("run", '{"command": "ls", "timeout_s": 0}', "timeout_s: "),
        ("run", '{"command": "ls", "timeout_s": NaN}', "NaN is not a JSON number"),
        ("run", '{"command": "ls", "timeout_s": Infinity}', "Infinity is not a JSON number"),
        (ASK, '{"question": ""}', "question: "),
        (ASK, '{"question": "?", "options": [{}]}', "options.0.label: "),
        (ASK, '{"question": "?", "options": ' + str([{"label": "x"}] * 5).replace("'", '"') + "}", "options: "),
        ("read", '{"path": ' + "[" * 100_000, "arguments|path"),
        ("read", '{"path": "\\ud800"}', "arguments|path"),
    ],
)
def test_invalid_arguments_are_named(tool: str, arguments: str, words: str) -> None:
    with pytest.raises(Problem, match=words):
        read_arguments(tool, arguments)


def test_no_number_is_too_large_for_what_receives_it() -> None:
    """A number beyond 64 bits is refused, because the database and the standard library cannot take it."""
    numbers = [
        (tool.name, name)
        for tool in tool_specs()
        for name, parameter in tool.parameters["properties"].items()
        if parameter.get("type") in ("integer", "number")
    ]
    assert ("read", "start") in numbers and ("search_sessions", "event") in numbers
    for tool_name, name in numbers:
        with pytest.raises(Problem, match=rf"{name}: Input should be less than or equal to"):
            read_arguments(tool_name, json.dumps({name: 2**64}))


@given(st.sampled_from([*TOOLS, ASK]), st.text())
def test_no_text_causes_an_internal_error(tool: str, arguments: str) -> None:
    try:
        read_arguments(tool, arguments)
    except Problem:
        return
