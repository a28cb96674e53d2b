"""Validation by JSON Schema: all its keywords are checked; invalid and harmful schemas are refused."""

from typing import Any

import pytest

from core.tools.json_schema import extract_json, is_usable, schema_error, validation_errors

DRAFT_7 = {"$schema": "http://json-schema.org/draft-07/schema#"}


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
        ({"multipleOf": 0.01}, [19.99, 7, 10**400], [19.995, float("inf"), float("nan")]),
        ({"dependentRequired": {"a": ["b"]}}, [{}, {"b": 1}, {"a": 1, "b": 1}], [{"a": 1}]),
        ({"patternProperties": {"^n_": {"type": "number"}}}, [{"n_a": 1, "b": ""}], [{"n_a": ""}]),
        ({"prefixItems": [{"type": "string"}], "items": False}, [["a"], []], [["a", 1], [1]]),
        ({"const": {"pattern": "(", "$ref": "x"}}, [{"pattern": "(", "$ref": "x"}], [1]),
        (
            {
                "$defs": {"tree": {"properties": {"kids": {"items": {"$ref": "#/$defs/tree"}}, "n": {"minimum": 0}}}},
                "$ref": "#/$defs/tree",
            },
            [{"kids": [{"n": 1}]}],
            [{"kids": [{"kids": [{"n": -1}]}]}],
        ),
        (False, [], [1]),
        (True, [1, None], []),
        ({"patternProperties": {"^n": {}}, "additionalProperties": False}, [{"n": 1}], [{"n": 1, "m": 1}]),
        (
            {"additionalProperties": False, "properties": {"default": {"pattern": "^a"}}},
            [{"default": "a"}],
            [{"default": "b"}],
        ),
        ({"format": "date"}, ["2026-02-28", 1], ["2026-02-30", "today"]),
        ({"format": "date-time"}, ["2026-02-28T10:00:00Z"], ["2026-02-28T10:00:00", "2026-02-28", "now"]),
        ({"items": {"format": "uri"}}, [["https://example.org/a", "urn:a"]], [["example"], ["https://a b"]]),
        ({"format": "email", "x-note": 1}, ["a@b"], ["a"]),
        (
            {**DRAFT_7, "items": [{"type": "string"}], "additionalItems": False, "dependencies": {"a": ["b"]}},
            [["a"], {"a": 1, "b": 1}],
            [[1], ["a", 1], {"a": 1}],
        ),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": True}, [2], [1]),
    ],
)
def test_a_schema_is_checked(schema: Any, good: list[Any], bad: list[Any]) -> None:
    assert schema_error(schema) == ""
    assert [value for value in good if validation_errors(value, schema, formats=True)] == []
    assert [value for value in bad if not validation_errors(value, schema, formats=True)] == []


@pytest.mark.parametrize(
    "schema",
    [
        "object",
        {"type": "thing"},
        {"$ref": "https://example.com/schema.json"},
        {"properties": {"a": {"dependentRequired": []}}},
        {"patternProperties": {"(": {}}},
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
        {"properties": {"default": {"pattern": "("}}},
        {"properties": {"a": {"requierd": ["b"]}}},
        {"dependencies": {"a": ["b"]}},
        {**DRAFT_7, "dependentRequired": {"a": ["b"]}},
        {"anyOf": [{"type": "string", "nullable": True}]},
        {"items": {"format": "hostname"}},
        {"$schema": "https://example.org/mine"},
        {"patternProperties": {"^a": {}}, "unevaluatedProperties": False},
    ],
)
def test_an_unusable_schema_is_rejected(schema: Any) -> None:
    """Nothing that a schema demands is silently left unchecked."""
    assert schema_error(schema)


def test_a_misspelled_keyword_is_named() -> None:
    assert schema_error({"requierd": ["a"]}) == "the keyword 'requierd' is not supported (did you mean 'required'?)"


def test_the_rest_of_a_schema_is_checked_without_its_unsupported_patterns() -> None:
    """The schema of an MCP tool may be written for another engine; this must not disable the check."""
    schema = {
        "properties": {"a": {"pattern": "^(?!x)", "minLength": 2}, "enum": {"pattern": "(?=x)"}},
        "required": ["a"],
    }
    assert is_usable(schema)
    assert validation_errors({"a": "xx", "enum": "y"}, schema) == []
    assert validation_errors({"a": "x"}, schema) and validation_errors({}, schema)
    assert not is_usable({"$ref": "https://example.com/schema.json"})


def test_the_value_of_a_reply_is_parsed() -> None:
    assert extract_json(' {"a": 1} ') == extract_json('Here:\n```json\n{"a": 1}\n```\n') == {"a": 1}
    for text in ("It is 1.", "```\n1\n```\n```\n2\n```"):
        with pytest.raises(ValueError):
            extract_json(text)


def test_a_malicious_schema_or_reply_does_not_block() -> None:
    """A sub-agent's schema and reply both come from a model; each of these took minutes or ended the run."""
    assert validation_errors("a" * 200 + "!", {"pattern": "^(a+)+$"})
    assert validation_errors(10**400, {"multipleOf": 0.3})
    assert validation_errors(1, {"$ref": "#"})
    assert validation_errors(1, {"$ref": "#/$defs/missing"})
    doubling = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(60)}
    assert validation_errors(1, {"$defs": {**doubling, "d60": False}, "$ref": "#/$defs/d0"})
    deep: dict[str, Any] = {}
    for _ in range(10_000):
        deep = {"not": deep}
    assert schema_error(deep)
    slow: dict[str, Any] = {"patternProperties": {"^(a+)+$": {}}}
    assert validation_errors({"a" * 200 + "!": 1}, {**slow, "additionalProperties": False})
    assert not is_usable({**slow, "unevaluatedProperties": False})
    for text in ("```x\n" * 100_000, "[" * 100_000):
        with pytest.raises(ValueError):
            extract_json(text)
