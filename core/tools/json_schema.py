"""Validates JSON values against schemas that come from models and MCP servers, and are therefore not trusted."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jsonschema.protocols import Validator
    from pydantic_core import SchemaValidator

MAX_REFERENCES = 2_000  # followed during one validation; references to references could go on for ages
MAX_ERRORS = 20
MAX_QUOTED = 200  # characters of an error message
VALUES = ("const", "default", "enum", "examples")  # keywords that contain values instead of schemas
FENCE = re.compile(r"```[\w-]*")


class TooComplexError(Exception):
    """Validation with a schema follows too many references."""


def schema_error(schema: Any) -> str:
    """Return why this cannot be used as a schema; "" if it can."""
    from jsonschema.exceptions import SchemaError

    if not isinstance(schema, dict | bool):
        return "schema is not an object"
    validator = _validator_class()
    try:
        validator.check_schema(schema)
    except SchemaError as error:
        return f"schema{error.json_path[1:]}: {_shortened(error.message)}"
    except RecursionError:
        return "schema is nested too deeply"
    return next(_unusable_parts(schema), "")


def validation_errors(value: Any, schema: Any, location: str = "the value") -> list[str]:
    """Return what is wrong with a value, in sentences; an empty list if it is valid."""
    from referencing.exceptions import Unresolvable

    try:
        errors = []
        for error in _new_validator(schema).iter_errors(value):
            errors.append(f"{location}{error.json_path[1:]}: {_shortened(error.message)}")
            if len(errors) == MAX_ERRORS:
                break
        return errors
    except (TooComplexError, RecursionError):
        return [f"{location} cannot be checked, because its schema is too complex"]
    except Unresolvable as error:
        return [f"{location} cannot be checked, because its schema refers to {error.ref}, which is not part of it"]


def extract_json(text: str) -> Any:
    """Return the JSON value that is a whole reply, or its only fenced block. Raise ValueError if there is none."""
    lines, fence_start, fenced = text.split("\n"), -1, []
    for index, line in enumerate(lines):
        if fence_start < 0 and FENCE.fullmatch(line):
            fence_start = index
        elif fence_start >= 0 and line.rstrip() == "```":
            fenced.append("\n".join(lines[fence_start + 1 : index]))
            fence_start = -1
    try:
        return json.loads(fenced[0] if len(fenced) == 1 else text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _shortened(message: str) -> str:
    """Return a message without most of a long value that it quotes at its beginning."""
    half = MAX_QUOTED // 2
    return message if len(message) <= MAX_QUOTED else f"{message[:half]} … {message[-half:]}"


@cache
def _validator_class() -> "type[Validator]":
    """Return a validator for JSON Schema 2020-12 whose patterns take linear time."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    keywords = {
        "pattern": _check_pattern,
        "patternProperties": _check_pattern_properties,
        "multipleOf": _check_multiple,
    }
    validator: type[Validator] = extend(Draft202012Validator, keywords)
    return validator


def _new_validator(schema: Any) -> "Validator":
    """Return a validator that counts the references it follows and loads none from elsewhere."""
    from jsonschema.validators import extend
    from referencing import Registry

    base = _validator_class()
    follow = base.VALIDATORS["$ref"]
    remaining = MAX_REFERENCES

    def check_reference(validator: Any, reference: Any, value: Any, schema: Any) -> Iterator[Any]:
        nonlocal remaining
        remaining -= 1
        if remaining < 0:
            raise TooComplexError
        yield from follow(validator, reference, value, schema)

    counting: type[Validator] = extend(base, {"$ref": check_reference})
    return counting(schema, registry=Registry())


def _check_pattern(validator: Any, pattern: str, value: Any, schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    if validator.is_type(value, "string") and not _pattern(pattern).isinstance_python(value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _check_pattern_properties(validator: Any, patterns: Mapping[str, Any], value: Any, schema: Any) -> Iterator[Any]:
    if validator.is_type(value, "object"):
        for pattern, subschema in patterns.items():
            for name in filter(_pattern(pattern).isinstance_python, value):
                yield from validator.descend(value[name], subschema, path=name, schema_path=pattern)


def _check_multiple(validator: Any, divisor: Any, value: Any, schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    if validator.is_type(value, "number"):
        try:
            is_multiple = not value % divisor
        except OverflowError:  # an integer too large for a float
            is_multiple = False
        if not is_multiple:
            yield ValidationError(f"{value!r} is not a multiple of {divisor!r}")


@lru_cache(maxsize=64)
def _pattern(text: str) -> "SchemaValidator":
    # The Rust engine takes linear time: pattern and text come from a model and could be made to take very long.
    from pydantic_core import SchemaValidator

    return SchemaValidator({"type": "str", "pattern": text, "regex_engine": "rust-regex"})


def _unusable_parts(schema: Any) -> Iterator[str]:
    """Yield why a valid schema cannot be used: invalid patterns, and references to other documents."""
    from pydantic_core import SchemaError

    if isinstance(schema, list):
        for item in schema:
            yield from _unusable_parts(item)
    if not isinstance(schema, dict):
        return
    pattern, named_patterns = schema.get("pattern"), schema.get("patternProperties")
    patterns = [pattern] if isinstance(pattern, str) else []
    for text in [*patterns, *(named_patterns if isinstance(named_patterns, dict) else ())]:
        try:
            _pattern(text)
        except SchemaError as error:
            yield f"{text} is not a valid pattern: {' '.join(str(error).split())[-MAX_QUOTED:]}"
    reference = schema.get("$ref", "#")
    if isinstance(reference, str) and not reference.startswith("#"):
        yield f"{reference} is not a part of the schema"
    for keyword, value in schema.items():
        if keyword not in VALUES:
            yield from _unusable_parts(value)
