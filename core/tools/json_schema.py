"""Validates JSON values against common JSON Schema keywords. A schema with any other keyword is refused."""

import json
import operator
import re
from collections.abc import Callable, Iterator, Mapping
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
    "type": lambda value: all(isinstance(one, str) for one in (value if isinstance(value, list) else [value])),
    "required": lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value),
    "properties": lambda value: isinstance(value, dict),
    "pattern": lambda value: isinstance(value, str),
    "uniqueItems": lambda value: isinstance(value, bool),
    **dict.fromkeys(("enum", "anyOf", "oneOf", "allOf"), _is_list),
    **dict.fromkeys((word for least, most, _ in SIZES for word in (least, most)), _is_size),
    **dict.fromkeys((*(word for word, _, _ in BOUNDS), "multipleOf"), _is_number),
}


def schema_error(schema: Any, place: str = "schema", depth: int = 0) -> str:
    """Return why this cannot be used as a schema; "" if it can."""
    if isinstance(schema, bool):
        return ""
    if not isinstance(schema, dict):
        return f"{place} is not an object"
    if depth > DEEPEST:
        return f"{place} is nested more than {DEEPEST} levels deep"
    if strange := sorted(set(schema) - SUPPORTED_KEYWORDS):
        return f"{place} uses {', '.join(strange)}, which is not supported"
    if strange := sorted(
        keyword for keyword, fits in KEYWORD_CHECKS.items() if keyword in schema and not fits(schema[keyword])
    ):
        return f"{place} has an invalid value for {', '.join(strange)}"
    types = schema.get("type", [])
    for name in [types] if isinstance(types, str) else types:
        if name not in TYPES:
            return f"{place} has the unknown type {name!r}"
    if why := _wrong_pattern(schema.get("pattern", "")):
        return f"{place}.pattern is not a valid pattern: {why}"
    return next(
        (found for name, inner in _inner(schema) if (found := schema_error(inner, f"{place}.{name}", depth + 1))), ""
    )


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


def _inner(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield every schema inside a schema, with its place."""
    properties = schema.get("properties", {})
    if isinstance(properties, dict):
        yield from ((f"properties.{name}", inner) for name, inner in properties.items())
    for keyword in ("items", "not", "additionalProperties"):
        if keyword in schema:
            yield keyword, schema[keyword]
    for keyword in ("anyOf", "oneOf", "allOf"):
        yield from ((f"{keyword}[{place}]", inner) for place, inner in enumerate(schema.get(keyword, ())))


def validation_errors(value: Any, schema: Any, place: str = "the value") -> list[str]:
    """Return what is wrong with a value, in sentences; an empty list if it is valid."""
    if isinstance(schema, bool):
        return [] if schema else [f"{place} must not be there"]
    types = schema.get("type")
    if types is not None and not any(_is(value, name) for name in ([types] if isinstance(types, str) else types)):
        return [f"{place} must be {types if isinstance(types, str) else ' or '.join(types)}"]
    found = [*_choices(value, schema, place), *_sizes(value, schema, place)]
    if isinstance(value, dict):
        found += _object(value, schema, place)
    if isinstance(value, list) and "items" in schema:
        for number, item in enumerate(value):
            found += validation_errors(item, schema["items"], f"{place}[{number}]")
    return found


def _choices(value: Any, schema: Mapping[str, Any], place: str) -> Iterator[str]:
    if "enum" in schema and not any(_same(value, one) for one in schema["enum"]):
        yield f"{place} must be one of {json.dumps(schema['enum'], ensure_ascii=False)}"
    if "const" in schema and not _same(value, schema["const"]):
        yield f"{place} must be {json.dumps(schema['const'], ensure_ascii=False)}"
    fitting = [
        sum(not validation_errors(value, one) for one in schema.get(keyword, ())) for keyword in ("anyOf", "oneOf")
    ]
    if "anyOf" in schema and not fitting[0]:
        yield f"{place} matches none of the allowed schemas"
    if "oneOf" in schema and fitting[1] != 1:
        yield f"{place} must match exactly one of the allowed schemas"
    for one in schema.get("allOf", ()):
        yield from validation_errors(value, one, place)
    if "not" in schema and not validation_errors(value, schema["not"]):
        yield f"{place} matches an excluded schema"


def _sizes(value: Any, schema: Mapping[str, Any], place: str) -> Iterator[str]:
    for minimum, maximum, kind in SIZES:
        if isinstance(value, kind):
            if len(value) < schema.get(minimum, 0):
                yield f"{place} must have a length of at least {schema[minimum]}"
            if maximum in schema and len(value) > schema[maximum]:
                yield f"{place} must have a length of at most {schema[maximum]}"
    if isinstance(value, str) and "pattern" in schema and not _pattern(schema["pattern"]).isinstance_python(value):
        yield f"{place} must match {schema['pattern']}"
    if isinstance(value, int | float) and not isinstance(value, bool):
        for keyword, holds, phrase in BOUNDS:
            if keyword in schema and not holds(value, schema[keyword]):
                yield f"{place} must be {phrase} {schema[keyword]}"
        if schema.get("multipleOf") and not _is_multiple(value, schema["multipleOf"]):
            yield f"{place} must be a multiple of {schema['multipleOf']}"
    if isinstance(value, list) and schema.get("uniqueItems"):
        serialized = [json.dumps(item, sort_keys=True) for item in value]
        if len(set(serialized)) < len(serialized):
            yield f"{place} contains an item twice"


def _object(value: Mapping[str, Any], schema: Mapping[str, Any], place: str) -> Iterator[str]:
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{place} requires {name!r}"
    for name, inner in value.items():
        if name in properties:
            yield from validation_errors(inner, properties[name], f"{place}.{name}")
        elif schema.get("additionalProperties") is False:
            yield f"{place} has {name!r}, which is not allowed"
        elif isinstance(schema.get("additionalProperties"), dict):
            yield from validation_errors(inner, schema["additionalProperties"], f"{place}.{name}")


def _is(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, TYPES[name])


def _is_multiple(value: float, of: float) -> bool:
    try:
        return not value % of
    except OverflowError:  # an integer too large for a float
        return False


def _same(a: Any, b: Any) -> bool:
    """Return whether two values are equal in JSON, where True is not 1."""
    return isinstance(a, bool) == isinstance(b, bool) and bool(a == b)


def extract_json(text: str) -> Any:
    """Return the JSON value that is a whole reply, or its only fenced block. Raise ValueError if there is none."""
    lines, open_at, fenced = text.split("\n"), -1, []
    for at, line in enumerate(lines):
        if open_at < 0 and FENCE.fullmatch(line):
            open_at = at
        elif open_at >= 0 and line.rstrip() == "```":
            fenced.append("\n".join(lines[open_at + 1 : at]))
            open_at = -1
    try:
        return json.loads(fenced[0] if len(fenced) == 1 else text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
