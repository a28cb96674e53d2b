"""What a server says of its tools is shown whole, whatever hides in it, and compared as it was accepted."""

import json

import pytest

from core.servers.told import accepted, by_name, difference, unfit


@pytest.mark.parametrize("sign", ["\x9b", "\x1b[", "\x1b]", "\u202e", "\u200b", '"', "\\", "\x00", "\U000e0041"])
def test_nothing_in_a_schema_can_hide_or_break_it(sign: str) -> None:
    schema = {"type": "object", f"a{sign}": [f"b{sign}", "c"], "d": {"e": f"{sign}f", "g": 1.5}}
    kept = json.loads(accepted("add", f"Adds{sign}.", schema).schema)
    assert kept["type"] == "object" and kept["d"]["g"] == 1.5 and len(kept) == 3
    assert next(value for value in kept.values() if isinstance(value, list))[1] == "c"
    hidden = sign not in '"\\'
    assert (sign in json.dumps(kept, ensure_ascii=False)) is not hidden


def test_a_tool_that_came_went_or_says_another_thing_differs() -> None:
    was = accepted("add", "Adds.", {"type": "object"})
    assert difference(was, accepted("add", "Adds.", {"type": "object"})) == ""
    assert "+Adds more." in difference(was, accepted("add", "Adds more.", {"type": "object"}))
    assert '+ "x": 1' in difference(was, accepted("add", "Adds.", {"type": "object", "x": 1}))
    assert "-Adds." in difference(was, None) and "+Adds." in difference(None, was)


def test_a_tool_that_is_listed_twice_in_the_same_words_is_one() -> None:
    add, other = accepted("add", "Adds.", {}), accepted("add", "Sends.", {})
    assert by_name([add, add]) == {"add": add}
    assert list(by_name([add, other, add, other])) == ["add", "add (again)"]


@pytest.mark.parametrize("name", ["re\u0430d", "a__b", "a b", "", "a" * 39, "a.b"])
def test_names_that_models_do_not_take_or_that_look_like_others_are_unfit(name: str) -> None:
    assert "no plain name" in unfit(accepted(name, "", {}))
    assert unfit(accepted("read-it_2", "", {})) == ""
    assert "too long" in unfit(accepted("read", "x" * 5_000, {}))


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
def test_a_schema_that_describes_no_arguments_is_unfit(schema: object, fits: bool) -> None:
    assert (unfit(accepted("read", "", schema)) == "") is fits
