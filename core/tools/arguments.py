"""Builds the JSON Schema of a tool's parameters from a dataclass, and parses the arguments of a call strictly."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from core.domain.problems import Problem
from core.models.lenient_json import DEEPEST, parse_integer, refuse_constant, unique_members

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic_core import ErrorDetails

OMITTED_KEYWORDS = frozenset(
    {"title", "properties", "default", "minLength", "maxLength", "minItems", "maxItems"}
    | {"minimum", "maximum", "exclusiveMinimum"}
)


def schema_of(reader: "TypeAdapter[Any]") -> dict[str, Any]:
    """Return the JSON Schema of a tool's parameters, without references, in a form that every provider accepts.

    To save tokens, titles, defaults, limits and `additionalProperties: false` are left out. `parse_strictly` still
    enforces them, and its error names the limit that was exceeded.
    """
    schema = reader.json_schema()
    definitions = schema.pop("$defs", {})
    inlined = _inlined(schema, definitions)
    assert isinstance(inlined, dict)
    return inlined


def _inlined(node: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
        return [_inlined(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        siblings = {key: value for key, value in node.items() if key != "$ref"}
        return _inlined(definitions[node["$ref"].rpartition("/")[2]] | siblings, definitions)
    if node.get("default", ...) is None and len(node.get("anyOf", ())) == 2:  # offer `T | None` as an optional T
        annotations = {key: value for key, value in node.items() if key not in ("anyOf", "default")}
        return _inlined(next(each for each in node["anyOf"] if each != {"type": "null"}) | annotations, definitions)
    properties = {name: _inlined(inner, definitions) for name, inner in node.get("properties", {}).items()}
    inlined = {key: _inlined(value, definitions) for key, value in node.items() if key not in OMITTED_KEYWORDS}
    if node.get("type") != "object":
        return inlined
    # An object without declared properties, such as a JSON Schema passed as an argument, may have any key.
    return {"type": "object", "properties": properties, **inlined} if properties else inlined


def parse_strictly(tool: str, reader: "TypeAdapter[Any]", arguments: str, current: Callable[[Any], Any]) -> Any:
    """Return the parameters of a call; if they are invalid, raise a Problem with the fix for the model.

    `current` maps former parameter names in the decoded arguments to present ones before they are checked.
    """
    from pydantic import ValidationError

    try:
        decoded = current(_parse(arguments or "{}"))
        return reader.validate_json(json.dumps(decoded), strict=True, extra="forbid")
    except ValidationError as error:
        reason = "; ".join(_explain(detail, reader) for detail in error.errors(include_url=False)[:5])
    except RecursionError:
        reason = f"they are nested more than {DEEPEST} levels deep"
    except ValueError as error:
        reason = f"they are not valid JSON: {error}"
    raise Problem(f"The arguments of {tool} are invalid.", f"{reason}.", "Correct them and call again.")


def parse_object(tool: str, arguments: str) -> dict[str, Any]:
    """Parse arguments that Journeyman has no schema for, such as those of an MCP tool, as one JSON object."""
    try:
        decoded = _parse(arguments or "{}")
    except (ValueError, RecursionError) as error:
        raise Problem(f"The arguments of {tool} are not valid JSON.", f"{error}.", "Correct them.") from error
    if not isinstance(decoded, dict):
        raise Problem(f"The arguments of {tool} are not a JSON object.", "", "Correct them and call again.")
    return decoded


def _parse(arguments: str) -> Any:
    """Decode JSON. Raise ValueError for input that parsers interpret differently, such as duplicate keys."""
    decoded = _DECODER.decode(arguments)
    if any(depth > DEEPEST for depth in _depths(decoded)):
        raise ValueError(f"they are nested more than {DEEPEST} levels deep")
    return decoded


def _float(text: str) -> int | float:
    """Return a number; `5.0` is an integer, as in JSON Schema."""
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError("a number is too large")
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


_DECODER = json.JSONDecoder(
    object_pairs_hook=unique_members, parse_constant=refuse_constant, parse_int=parse_integer, parse_float=_float
)


def _depths(node: Any, depth: int = 0) -> Iterator[int]:
    """Yield the depth of each value nested in a value, but not below DEEPEST + 1."""
    yield depth
    inner_values: Iterable[Any] = ()
    if isinstance(node, dict):
        inner_values = node.values()
    elif isinstance(node, list):
        inner_values = node
    if depth <= DEEPEST:
        for inner in inner_values:
            yield from _depths(inner, depth + 1)


def _explain(detail: "ErrorDetails", reader: "TypeAdapter[Any]") -> str:
    location = ".".join(map(str, detail["loc"])) or "arguments"
    if detail["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        suggestion = get_close_matches(str(detail["loc"][-1]), _keys(schema_of(reader)), n=1)
        return f"{location}: unknown parameter" + (f", did you mean {suggestion[0]!r}?" if suggestion else "")
    if detail["type"] == "missing":
        return f"{location}: required"
    type_name = type(detail["input"]).__name__
    return f"{location}: {detail['msg']}" + (f", not {type_name}" if "type" in detail["type"] else "")


def _keys(schema: Any) -> list[str]:
    """Return all property names in a schema, at any depth."""
    if isinstance(schema, list):
        return [key for item in schema for key in _keys(item)]
    if not isinstance(schema, dict):
        return []
    inner = [key for value in schema.values() for key in _keys(value)]
    return [*schema.get("properties", {}), *inner] if schema.get("type") == "object" else inner
