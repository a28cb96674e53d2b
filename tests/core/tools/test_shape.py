"""The shape of a value: what a schema says is checked, what is not checked here is refused as a schema."""

from typing import Any

import pytest

from core.tools.shape import misfits, value_in, wrong_schema


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "integer"}, [1, 2.0], [1.5, "1", True, None]),
        ({"type": ["string", "null"]}, ["a", None], [1, False]),
        ({"enum": [1, "a"]}, [1, "a"], [True, "b"]),
        ({"const": {"a": 1}}, [{"a": 1}], [{"a": 2}]),
        ({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}, [{"a": ""}], [{}, {"a": 1}]),
        ({"properties": {"a": {}}, "additionalProperties": False}, [{}, {"a": 1}], [{"b": 1}]),
        ({"additionalProperties": {"type": "number"}}, [{"a": 1}], [{"a": "1"}]),
        ({"items": {"minimum": 1, "exclusiveMaximum": 3}}, [[1, 2]], [[0], [3]]),
        ({"minItems": 1, "maxItems": 2, "uniqueItems": True}, [[1], [1, 2]], [[], [1, 2, 3], [1, 1]]),
        ({"minLength": 2, "maxLength": 3, "pattern": "^a"}, ["ab"], ["a", "abcd", "ba"]),
        ({"anyOf": [{"type": "string"}, {"minimum": 3}]}, ["a", 4], [1]),
        ({"oneOf": [{"minimum": 1}, {"maximum": 5}]}, [0, 6], [3]),
        ({"allOf": [{"minimum": 1}, {"not": {"const": 2}}]}, [1, 3], [0, 2]),
        ({"multipleOf": 5}, [10], [11]),
        (False, [], [1]),
        (True, [1, None], []),
    ],
)
def test_what_a_schema_says_is_checked(schema: Any, good: list[Any], bad: list[Any]) -> None:
    assert wrong_schema(schema) == ""
    assert [value for value in good if misfits(value, schema)] == []
    assert [value for value in bad if not misfits(value, schema)] == []


@pytest.mark.parametrize(
    "schema",
    [
        "object",
        {"type": "thing"},
        {"$ref": "#"},
        {"properties": {"a": {"dependentRequired": {}}}},
        {"pattern": "("},
        {"pattern": "(?=a)"},
        {"pattern": 1},
        {"type": 5},
        {"type": [["a"]]},
        {"anyOf": 5},
        {"required": 1},
        {"required": [[]]},
        {"minLength": "x"},
        {"maximum": "x"},
        {"properties": []},
        {"items": 3},
        {"enum": 1},
        {"multipleOf": True},
        {"pattern": "(a{1000}){1000}"},
    ],
)
def test_what_is_not_checked_is_no_schema(schema: Any) -> None:
    assert wrong_schema(schema)


def test_the_value_of_a_reply() -> None:
    assert value_in(' {"a": 1} ') == value_in('Here:\n```json\n{"a": 1}\n```\n') == {"a": 1}
    for text in ("It is 1.", "```\n1\n```\n```\n2\n```"):
        with pytest.raises(ValueError):
            value_in(text)


def test_a_schema_and_a_reply_made_to_hold_us_up_do_not() -> None:
    """A sub-agent's schema and reply are both words of a model; each of these took minutes, or the run with it."""
    assert misfits("a" * 200 + "!", {"pattern": "^(a+)+$"})
    assert misfits(10**400, {"multipleOf": 0.5})
    for text in ("```x\n" * 100_000, "[" * 100_000):
        with pytest.raises(ValueError):
            value_in(text)
