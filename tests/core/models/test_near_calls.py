"""Names of tools and parameters that models use by habit are corrected where only one fits."""

import json

import pytest

from core.models.model import RequestedCall, ToolSpec
from core.models.near_calls import correction_note, near_call
from core.tools.argument_check import argument_fault
from core.tools.catalogue import COMPACT_TOOLS, tool_specs

COMPACT = tool_specs(COMPACT_TOOLS, compact=True)


@pytest.mark.parametrize(
    ("tool", "arguments", "name", "corrected"),
    [
        ("write_file", {"file_path": "a", "contents": "b"}, "write", {"path": "a", "content": "b"}),
        ("createFile", {"filename": "a", "text": "b"}, "write", {"path": "a", "content": "b"}),
        ("functions.bash", {"cmd": "ls"}, "run", {"command": "ls"}),
        ("Edit", {"path": "a", "oldString": "b", "new_str": "c"}, "edit",
         {"path": "a", "old_string": "b", "new_string": "c"}),
        ("read", {"Path": "a", "start_line": 2}, "read", {"path": "a", "start": 2}),
        ("ask", {"prompt": "Which?"}, "ask_user", {"question": "Which?"}),
    ],
)  # fmt: skip
def test_habitual_names_are_corrected(
    tool: str, arguments: dict[str, object], name: str, corrected: dict[str, object]
) -> None:
    call = near_call(RequestedCall(tool, json.dumps(arguments)), COMPACT)
    assert (call.tool, json.loads(call.arguments)) == (name, corrected)
    spec = next(each for each in COMPACT if each.name == name)
    assert not argument_fault(spec, call.arguments)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read", '{"path": "a"}'),
        ("launch_rocket", '{"file": "a"}'),
        ("read", '{"path": "a", "file": "b"}'),  # which of them is meant is not clear
        ("read", '{"file": "a", "filename": "b"}'),
        ("read", '{"file": "a", "file": "b"}'),
        ("read", '{"path": "a.t'),
        ("run", '{"command": "true", "background": true}'),  # not offered in a compact prompt, but valid
    ],
)
def test_anything_else_stays_as_the_model_made_it(tool: str, arguments: str) -> None:
    call = RequestedCall(tool, arguments)
    assert near_call(call, COMPACT) is call


def test_the_user_sees_what_was_corrected() -> None:
    calls = [
        RequestedCall("bash", '{"cmd": "ls"}'),
        RequestedCall("read", '{"file": "a"}'),
        RequestedCall("read", "{}"),
    ]
    note = correction_note(calls, [near_call(call, COMPACT) for call in calls])
    assert note == "Names in the calls were corrected: bash as run, the parameters of read."
    assert correction_note(calls[2:], calls[2:]) == ""


def test_a_tool_with_two_names_that_fit_is_left_alone() -> None:
    twice = [ToolSpec("run", "", {}), ToolSpec("Run", "", {})]
    call = RequestedCall("RUN", "{}")
    assert near_call(call, twice) is call
