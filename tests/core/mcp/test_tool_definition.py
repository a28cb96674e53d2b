"""Stored tool definitions: invisible characters are escaped, and changes are detected."""

import json

import pytest

from core.mcp.tool_definition import diff_tools, stored_definition, tool_rejection, tools_by_name


@pytest.mark.parametrize("sign", ["\x9b", "\x1b[", "\x1b]", "\u202e", "\u200b", '"', "\\", "\x00", "\U000e0041"])
def test_nothing_in_a_schema_can_hide_or_break_it(sign: str) -> None:
    schema = {"type": "object", f"a{sign}": [f"b{sign}", "c"], "d": {"e": f"{sign}f", "g": 1.5}}
    kept = json.loads(stored_definition("add", f"Adds{sign}.", schema).input_schema)
    assert kept["type"] == "object" and kept["d"]["g"] == 1.5 and len(kept) == 3
    assert next(value for value in kept.values() if isinstance(value, list))[1] == "c"
    hidden = sign not in '"\\'
    assert (sign in json.dumps(kept, ensure_ascii=False)) is not hidden


def test_added_removed_and_changed_tools_differ() -> None:
    was = stored_definition("add", "Adds.", {"type": "object"})
    assert diff_tools(was, stored_definition("add", "Adds.", {"type": "object"})) == ""
    assert "+Adds more." in diff_tools(was, stored_definition("add", "Adds more.", {"type": "object"}))
    assert '+ "x": 1' in diff_tools(was, stored_definition("add", "Adds.", {"type": "object", "x": 1}))
    assert "-Adds." in diff_tools(was, None) and "+Adds." in diff_tools(None, was)


def test_a_tool_listed_twice_identically_is_one() -> None:
    add, other = stored_definition("add", "Adds.", {}), stored_definition("add", "Sends.", {})
    assert tools_by_name([add, add]) == {"add": add}
    assert list(tools_by_name([add, other, add, other])) == ["add", "add (again)"]


def test_a_name_that_looks_like_an_earlier_one_is_rejected() -> None:
    names = [
        "send_email",
        "send-email",
        "send_emai1",
        "send_emaiI",
        "Send_Email",
        "rnove",
        "move",
        "send_mail",
        "v0",
        "vo",
    ]
    tools = tools_by_name([stored_definition(name, "Sends.", {}) for name in names])
    offered = [name for name, tool in tools.items() if not tool_rejection(tool)]
    assert offered == ["send_email", "rnove", "send_mail", "v0"]
    assert "looks like that of another" in tool_rejection(tools["send_emai1 (alike)"])


@pytest.mark.parametrize("name", ["re\u0430d", "a__b", "a b", "", "a" * 39, "a.b"])
def test_names_that_models_reject_or_that_look_alike_are_unfit(name: str) -> None:
    assert "not a valid name" in tool_rejection(stored_definition(name, "", {}))
    assert tool_rejection(stored_definition("read-it_2", "", {})) == ""
    assert "too long" in tool_rejection(stored_definition("read", "x" * 5_000, {}))


@pytest.mark.parametrize(
    ("schema", "fits"),
    [
        ({"type": "object", "properties": {"a": {"type": "string"}, "b": True}}, True),
        ({"type": "object", "properties": 7}, False),
        ({"type": "object", "properties": {"a": 7}}, False),
        ({"type": "array"}, False),
        ("object", False),
        (None, False),
    ],
)
def test_a_schema_without_an_object_of_arguments_is_unfit(schema: object, fits: bool) -> None:
    assert (tool_rejection(stored_definition("read", "", schema)) == "") is fits
