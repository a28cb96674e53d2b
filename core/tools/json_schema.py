"""Validates JSON values against common JSON Schema keywords. A schema with any other keyword is refused."""

import json
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic_core import SchemaValidator

TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}
IGNORED_KEYWORDS = frozenset(
    {"title", "description", "default", "examples", "$schema", "$id", "$comment", "format", "deprecated"}
)
SUPPORTED_KEYWORDS = IGNORED_KEYWORDS | {
    "type", "enum", "const", "properties", "required", "additionalProperties", "items", "minItems", "maxItems",
    "uniqueItems", "minLength", "maxLength", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
    "multipleOf", "anyOf", "oneOf", "allOf", "not", "minProperties", "maxProperties",
}  # fmt: skip
DEEPEST = 32
SIZES = (("minLength", "maxLength", str), ("minItems", "maxItems", list), ("minProperties", "maxProperties", dict))
BOUNDS: tuple[tuple[str, Callable[[Any, Any], Any], str], ...] = (
    ("minimum", operator.ge, "at least"),
    ("maximum", operator.le, "at most"),
    ("exclusiveMinimum", operator.gt, "more than"),
    ("exclusiveMaximum", operator.lt, "less than"),
)
FENCE = re.compile(r"```[\w-]*")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


KEYWORD_CHECKS: Mapping[str, Callable[[Any], bool]] = {  # whether a keyword may have this value
    "type": lambda value: all(isinstance(item, str) for item in (value if isinstance(value, list) else [value])),
    "required": lambda value: isinstance(value, list) and all(isinstance(item, str) for item in value),
    "properties": lambda value: isinstance(value, dict),
    "pattern": lambda value: isinstance(value, str),
    "uniqueItems": lambda value: isinstance(value, bool),
    **dict.fromkeys(("enum", "anyOf", "oneOf", "allOf"), _is_list),
    **dict.fromkeys((word for least, most, _ in SIZES for word in (least, most)), _is_size),
    **dict.fromkeys((*(word for word, _, _ in BOUNDS), "multipleOf"), _is_number),
}


def schema_error(schema: Any, location: str = "schema", depth: int = 0) -> str:
    """Return why this cannot be used as a schema; "" if it can."""
    if isinstance(schema, bool):
        return ""
    if not isinstance(schema, dict):
        return f"{location} is not an object"
    if depth > DEEPEST:
        return f"{location} is nested more than {DEEPEST} levels deep"
    if unknown := sorted(set(schema) - SUPPORTED_KEYWORDS):
        return f"{location} uses {', '.join(unknown)}, which is not supported"
    if unknown := sorted(
        keyword for keyword, is_valid in KEYWORD_CHECKS.items() if keyword in schema and not is_valid(schema[keyword])
    ):
        return f"{location} has an invalid value for {', '.join(unknown)}"
    types = schema.get("type", [])
    for name in [types] if isinstance(types, str) else types:
        if name not in TYPES:
            return f"{location} has the unknown type {name!r}"
    if why := _wrong_pattern(schema.get("pattern", "")):
        return f"{location}.pattern is not a valid pattern: {why}"
    errors = (schema_error(inner, f"{location}.{name}", depth + 1) for name, inner in _subschemas(schema))
    return next(filter(None, errors), "")


@lru_cache(maxsize=64)
def _pattern(text: str) -> "SchemaValidator":
    # The Rust engine takes linear time: pattern and text come from a model and could be made to take very long.
    from pydantic_core import SchemaValidator

    return SchemaValidator({"type": "str", "pattern": text, "regex_engine": "rust-regex"})


def _wrong_pattern(text: str) -> str:
    from pydantic_core import SchemaError

    try:
        _pattern(text)
    except SchemaError as error:
        return " ".join(str(error).split())[-200:]
    return ""


def _subschemas(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield every schema inside a schema, with its location."""
    properties = schema.get("properties", {})
    if isinstance(properties, dict):
        yield from ((f"properties.{name}", inner) for name, inner in properties.items())
    for keyword in ("items", "not", "additionalProperties"):
        if keyword in schema:
            yield keyword, schema[keyword]
    for keyword in ("anyOf", "oneOf", "allOf"):
        yield from ((f"{keyword}[{number}]", inner) for number, inner in enumerate(schema.get(keyword, ())))


def validation_errors(value: Any, schema: Any, location: str = "the value") -> list[str]:
    """Return what is wrong with a value, in sentences; an empty list if it is valid."""
    if isinstance(schema, bool):
        return [] if schema else [f"{location} must not be there"]
    types = schema.get("type")
    if types is not None and not any(_is(value, name) for name in ([types] if isinstance(types, str) else types)):
        return [f"{location} must be {types if isinstance(types, str) else ' or '.join(types)}"]
    errors = [*_choices(value, schema, location), *_sizes(value, schema, location)]
    if isinstance(value, dict):
        errors += _object(value, schema, location)
    if isinstance(value, list) and "items" in schema:
        for number, item in enumerate(value):
            errors += validation_errors(item, schema["items"], f"{location}[{number}]")
    return errors


def _choices(value: Any, schema: Mapping[str, Any], location: str) -> Iterator[str]:
    if "enum" in schema and not any(_same(value, choice) for choice in schema["enum"]):
        yield f"{location} must be one of {json.dumps(schema['enum'], ensure_ascii=False)}"
    if "const" in schema and not _same(value, schema["const"]):
        yield f"{location} must be {json.dumps(schema['const'], ensure_ascii=False)}"
    if "anyOf" in schema and not _count_matching(value, schema["anyOf"]):
        yield f"{location} matches none of the allowed schemas"
    if "oneOf" in schema and _count_matching(value, schema["oneOf"]) != 1:
        yield f"{location} must match exactly one of the allowed schemas"
    for subschema in schema.get("allOf", ()):
        yield from validation_errors(value, subschema, location)
    if "not" in schema and not validation_errors(value, schema["not"]):
        yield f"{location} matches an excluded schema"


def _count_matching(value: Any, subschemas: Iterable[Any]) -> int:
    return sum(not validation_errors(value, subschema) for subschema in subschemas)


def _sizes(value: Any, schema: Mapping[str, Any], location: str) -> Iterator[str]:
    for minimum, maximum, kind in SIZES:
        if isinstance(value, kind):
            if len(value) < schema.get(minimum, 0):
                yield f"{location} must have a length of at least {schema[minimum]}"
            if maximum in schema and len(value) > schema[maximum]:
                yield f"{location} must have a length of at most {schema[maximum]}"
    if isinstance(value, str) and "pattern" in schema and not _pattern(schema["pattern"]).isinstance_python(value):
        yield f"{location} must match {schema['pattern']}"
    if isinstance(value, int | float) and not isinstance(value, bool):
        for keyword, holds, phrase in BOUNDS:
            if keyword in schema and not holds(value, schema[keyword]):
                yield f"{location} must be {phrase} {schema[keyword]}"
        if schema.get("multipleOf") and not _is_multiple(value, schema["multipleOf"]):
            yield f"{location} must be a multiple of {schema['multipleOf']}"
    if isinstance(value, list) and schema.get("uniqueItems"):
        serialized = [json.dumps(item, sort_keys=True) for item in value]
        if len(set(serialized)) < len(serialized):
            yield f"{location} contains an item twice"


def _object(value: Mapping[str, Any], schema: Mapping[str, Any], location: str) -> Iterator[str]:
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{location} requires {name!r}"
    for name, inner in value.items():
        if name in properties:
            yield from validation_errors(inner, properties[name], f"{location}.{name}")
        elif schema.get("additionalProperties") is False:
            yield f"{location} has {name!r}, which is not allowed"
        elif isinstance(schema.get("additionalProperties"), dict):
            yield from validation_errors(inner, schema["additionalProperties"], f"{location}.{name}")


def _is(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, TYPES[name])


def _is_multiple(value: float, divisor: float) -> bool:
    try:
        return not value % divisor
    except OverflowError:  # an integer too large for a float
        return False


def _same(a: Any, b: Any) -> bool:
    """Return whether two values are equal in JSON, where True is not 1."""
    return isinstance(a, bool) == isinstance(b, bool) and bool(a == b)


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
