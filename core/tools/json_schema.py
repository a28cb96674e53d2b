"""Validates JSON values against schemas that come from models and MCP servers, and are therefore not trusted."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from difflib import get_close_matches
from fractions import Fraction
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from jsonschema import FormatChecker
    from jsonschema.protocols import Validator
    from pydantic_core import SchemaValidator

MAX_REFERENCES = 2_000  # `$ref`s followed in one validation, which nested references could extend exponentially
MAX_ERRORS = 20
MAX_QUOTED = 200  # characters of a value quoted in an error message
# Keywords that contain a schema or a list of schemas.
SUBSCHEMAS = frozenset(
    {"additionalItems", "additionalProperties", "allOf", "anyOf", "contains", "contentSchema", "else", "if", "items"}
    | {"not", "oneOf", "prefixItems", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"}
)
# Keywords that contain schemas by name.
NAMED_SUBSCHEMAS = frozenset(
    {"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)
# Keywords that no value can violate, or that only modify other keywords.
ANNOTATIONS = frozenset(
    {"$anchor", "$comment", "$defs", "$dynamicAnchor", "$id", "$schema", "contentEncoding", "contentMediaType"}
    | {"contentSchema", "default", "definitions", "deprecated", "description", "else", "examples", "exclusiveMaximum"}
    | {"exclusiveMinimum", "id", "maxContains", "minContains", "readOnly", "then", "title", "writeOnly"}
)
FORMATS = ("date", "date-time", "email", "ipv4", "ipv6", "uri", "uuid")
FENCE = re.compile(r"```[\w-]*")


class TooComplexError(Exception):
    """Raised when a validation follows more than MAX_REFERENCES references."""


def schema_error(schema: Any) -> str:
    """Return why a schema cannot be used for replies; "" if all of its keywords can be checked."""
    if error := _metaschema_error(schema):
        return error
    known = frozenset(_validator_class(_dialect(schema)).VALIDATORS) | ANNOTATIONS
    unsupported = (error for part in _schemas(schema) for error in _unsupported(part, known))
    return next(_unusable(schema), "") or next(unsupported, "")


def is_usable(schema: Any) -> bool:
    """Return whether values can be validated with a schema. Unsupported patterns and keywords would be ignored."""
    return not _metaschema_error(schema) and not any(_unusable(schema))


def validation_errors(value: Any, schema: Any, location: str = "the value", *, formats: bool = False) -> list[str]:
    """Return what is wrong with a value, in sentences; an empty list if it is valid.

    An unsupported pattern matches everything. The keyword `format` is checked only with `formats`, because schema
    authors use it differently.
    """
    from referencing.exceptions import Unresolvable

    try:
        errors = []
        for error in _new_validator(schema, formats).iter_errors(value):
            errors.append(f"{location}{error.json_path[1:]}: {_shortened(error.message)}")
            if len(errors) == MAX_ERRORS:
                break
        return errors
    except (TooComplexError, RecursionError):
        return [f"{location} cannot be checked, because its schema is too complex"]
    except Unresolvable as error:
        return [f"{location} cannot be checked, because its schema refers to {error.ref}, which is not part of it"]


def extract_json(text: str) -> Any:
    """Parse a reply that is JSON as a whole, or that contains JSON in its only fenced block. Else raise ValueError."""
    blocks = _fenced_blocks(text)
    try:
        return json.loads(blocks[0] if len(blocks) == 1 else text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _fenced_blocks(text: str) -> list[str]:
    """Return the contents of the fenced code blocks in a Markdown text."""
    blocks: list[str] = []
    open_block: list[str] | None = None
    for line in text.split("\n"):
        if open_block is None:
            open_block = [] if FENCE.fullmatch(line) else None
        elif line.rstrip() == "```":
            blocks.append("\n".join(open_block))
            open_block = None
        else:
            open_block.append(line)
    return blocks


def _shortened(message: str) -> str:
    """Shorten an error message of the validator, which begins with the whole invalid value."""
    half = MAX_QUOTED // 2
    return message if len(message) <= MAX_QUOTED else f"{message[:half]} … {message[-half:]}"


def _metaschema_error(schema: Any) -> str:
    """Return why a schema is not valid in its version of JSON Schema; "" if it is valid."""
    from jsonschema.exceptions import SchemaError

    if not isinstance(schema, dict | bool):
        return "schema is not an object"
    try:
        _validator_class(_dialect(schema)).check_schema(schema)
    except SchemaError as error:
        return f"schema{error.json_path[1:]}: {_shortened(error.message)}"
    except RecursionError:
        return "schema is nested too deeply"
    return ""


def _dialect(schema: Any) -> str:
    """Return the version of JSON Schema that a schema names; "" if it names none that is known."""
    name = schema.get("$schema", "") if isinstance(schema, dict) else ""
    name = re.sub(r"^https?://json-schema\.org/", "", name).rstrip("#") if isinstance(name, str) else ""
    return name if name in _dialects() else ""


@cache
def _dialects() -> Mapping[str, "type[Validator]"]:
    from jsonschema import validators as known

    return {
        "": known.Draft202012Validator,
        "draft/2020-12/schema": known.Draft202012Validator,
        "draft/2019-09/schema": known.Draft201909Validator,
        "draft-07/schema": known.Draft7Validator,
        "draft-06/schema": known.Draft6Validator,
        "draft-04/schema": known.Draft4Validator,
    }


@cache
def _validator_class(dialect: str) -> "type[Validator]":
    """Return a validator class for a version of JSON Schema that matches patterns in linear time."""
    from jsonschema.validators import extend

    keywords = {
        "additionalProperties": _check_additional_properties,
        "pattern": _check_pattern,
        "patternProperties": _check_pattern_properties,
        "multipleOf": _check_multiple,
    }
    validator: type[Validator] = extend(_dialects()[dialect], keywords)
    return validator


def _new_validator(schema: Any, formats: bool) -> "Validator":
    """Return a validator that raises TooComplexError after MAX_REFERENCES references, and loads no remote schema."""
    from jsonschema.validators import extend
    from referencing import Registry

    base = _validator_class(_dialect(schema))
    follow = base.VALIDATORS["$ref"]
    remaining = MAX_REFERENCES

    def check_reference(validator: Any, reference: Any, value: Any, schema: Any) -> Iterator[Any]:
        nonlocal remaining
        remaining -= 1
        if remaining < 0:
            raise TooComplexError
        yield from follow(validator, reference, value, schema)

    counting: type[Validator] = extend(base, {"$ref": check_reference})
    return counting(schema, registry=Registry(), format_checker=_format_checker() if formats else None)


@cache
def _format_checker() -> "FormatChecker":
    from jsonschema import FormatChecker

    checker = FormatChecker(("date", "email", "ipv4", "ipv6", "uuid"))
    checker.checks("date-time", ValueError)(_is_date_time)
    checker.checks("uri", ValueError)(_is_uri)
    return checker


def _is_date_time(value: Any) -> bool:
    """Return whether a value is a time with its zone, as for `_is_uri`; raise ValueError for anything else."""
    if not isinstance(value, str):
        return True
    return datetime.fromisoformat(value).tzinfo is not None


def _is_uri(value: Any) -> bool:
    """Return whether a value is a URI; True for anything but a text, to which the format does not apply."""
    if not isinstance(value, str):
        return True
    return bool(urlsplit(value).scheme) and not re.search(r"\s", value)


def _check_pattern(validator: Any, pattern: str, value: Any, schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    if validator.is_type(value, "string") and not _matches(pattern, value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _check_pattern_properties(validator: Any, patterns: Mapping[str, Any], value: Any, schema: Any) -> Iterator[Any]:
    if validator.is_type(value, "object"):
        for pattern, subschema in patterns.items():
            for name in (name for name in value if not _pattern_error(pattern) and _matches(pattern, name)):
                yield from validator.descend(value[name], subschema, path=name, schema_path=pattern)


def _check_additional_properties(validator: Any, allowed: Any, value: Any, schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    if not validator.is_type(value, "object"):
        return
    named, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    extra = [name for name in value if name not in named and not any(_matches(pattern, name) for pattern in patterns)]
    if validator.is_type(allowed, "object"):
        for name in extra:
            yield from validator.descend(value[name], allowed, path=name)
    elif extra and not allowed:
        names = ", ".join(map(repr, extra))
        verb = "was" if len(extra) == 1 else "were"
        yield ValidationError(f"Additional properties are not allowed ({names} {verb} unexpected)")


def _check_multiple(validator: Any, divisor: Any, value: Any, schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    if validator.is_type(value, "number"):
        try:
            is_multiple = (_exact(value) / _exact(divisor)).denominator == 1
        except ValueError:  # an infinite number, or NaN
            is_multiple = False
        if not is_multiple:
            yield ValidationError(f"{value!r} is not a multiple of {divisor!r}")


def _exact(number: int | float) -> Fraction:
    """Return the decimal number that a float was parsed from: 0.01 becomes exactly a hundredth."""
    return Fraction(number) if isinstance(number, int) else Fraction(repr(number))


def _matches(pattern: str, text: str) -> bool:
    """Return whether a pattern occurs in a text; True for a pattern that is not supported."""
    return bool(_pattern_error(pattern)) or _pattern(pattern).isinstance_python(text)


@lru_cache(maxsize=64)
def _pattern(text: str) -> "SchemaValidator":
    # Use the Rust regex engine, which takes linear time: pattern and text are untrusted.
    from pydantic_core import SchemaValidator

    return SchemaValidator({"type": "str", "pattern": text, "regex_engine": "rust-regex"})


@lru_cache(maxsize=64)
def _pattern_error(text: str) -> str:
    from pydantic_core import SchemaError

    try:
        _pattern(text)
    except SchemaError as error:
        return f"{text} is not a valid pattern: {' '.join(str(error).split())[-MAX_QUOTED:]}"
    return ""


def _schemas(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield a schema and all schemas nested in it, but no objects that are plain values, such as those in `enum`."""
    if not isinstance(schema, dict):
        return
    yield schema
    for keyword, value in schema.items():
        inner: Any = ()
        if keyword in NAMED_SUBSCHEMAS and isinstance(value, dict):
            inner = value.values()
        elif keyword in SUBSCHEMAS:
            inner = value if isinstance(value, list) else (value,)
        for part in inner:
            yield from _schemas(part)


def _unusable(schema: Any) -> Iterator[str]:
    """Yield the reasons why values cannot be validated with a schema."""
    parts = list(_schemas(schema))
    for part in parts:
        reference = part.get("$ref", "#")
        if isinstance(reference, str) and not reference.startswith("#"):
            yield f"{reference} is not a part of the schema"
    keywords = {keyword for part in parts for keyword in part}
    if keywords >= {"unevaluatedProperties", "patternProperties"}:
        # Python's regex engine would match these patterns, which can take exponential time.
        yield "unevaluatedProperties cannot be combined with patternProperties"


def _unsupported(schema: Mapping[str, Any], known: frozenset[str]) -> Iterator[str]:
    """Yield the keywords, patterns and formats in a schema (not in nested ones) that validation would ignore."""
    pattern, named_patterns = schema.get("pattern"), schema.get("patternProperties")
    patterns = [pattern] if isinstance(pattern, str) else []
    yield from filter(None, map(_pattern_error, [*patterns, *(named_patterns or ())]))
    for keyword in schema:
        if keyword not in known and not keyword.startswith("x-"):
            close = get_close_matches(keyword, known, n=1)
            yield f"the keyword {keyword!r} is not supported" + (f" (did you mean {close[0]!r}?)" if close else "")
    if "format" in schema and schema["format"] not in FORMATS:
        yield f"format {schema['format']!r} is not checked; use one of {', '.join(FORMATS)}, or a pattern"
    dialect = schema.get("$schema", "")
    if dialect and not _dialect(schema):
        yield f"{dialect} is not a supported version of JSON Schema"
