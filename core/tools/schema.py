"""The arguments of a call: their JSON Schema from a dataclass, and reading them as strictly as it says."""

import json
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NoReturn

from core.domain.problems import Problem

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic_core import ErrorDetails

DEEPEST = 64
LONGEST_NUMBER = 40


def schema_of(reader: "TypeAdapter[Any]") -> dict[str, Any]:
    """The schema without references, closed to unknown keys: every provider takes that."""
    whole = reader.json_schema()
    named = whole.pop("$defs", {})
    plain = _plain(whole, named)
    assert isinstance(plain, dict)
    return plain


def _plain(node: Any, named: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
        return [_plain(item, named) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _plain(named[node["$ref"].rpartition("/")[2]] | {k: v for k, v in node.items() if k != "$ref"}, named)
    properties = {name: _plain(inner, named) for name, inner in node.get("properties", {}).items()}
    made = {key: _plain(value, named) for key, value in node.items() if key not in ("title", "properties")}
    if node.get("type") == "object" and node.get("additionalProperties") is not True:  # an open object stays open
        made |= {"properties": properties, "additionalProperties": False}
    return made


def read_strictly(tool: str, reader: "TypeAdapter[Any]", arguments: str) -> Any:
    """The parameters of a call; what is wrong with them is said so that a model can mend it."""
    from pydantic import ValidationError

    try:
        plain = _parse(arguments or "{}")
        return reader.validate_json(json.dumps(plain), strict=True, extra="forbid")
    except ValidationError as error:
        wrong = "; ".join(_said(detail, reader) for detail in error.errors(include_url=False)[:5])
    except RecursionError:
        wrong = f"they are nested deeper than {DEEPEST}"
    except ValueError as error:
        wrong = f"they are no JSON that can be read: {error}"
    raise Problem(f"The arguments of {tool} are wrong.", f"{wrong}.", "Correct them and call again.")


def read_object(tool: str, arguments: str) -> dict[str, Any]:
    """Arguments whose form only others know: one JSON object."""
    try:
        plain = _parse(arguments or "{}")
    except (ValueError, RecursionError) as error:
        raise Problem(f"The arguments of {tool} are no JSON that can be read.", f"{error}.", "Correct them.") from error
    if not isinstance(plain, dict):
        raise Problem(f"The arguments of {tool} are no JSON object.", "", "Correct them and call again.")
    return plain


def _parse(arguments: str) -> Any:
    """JSON without what two readers could read in two ways."""
    plain = _DECODER.decode(arguments)
    if any(depth > DEEPEST for depth in _depths(plain)):
        raise ValueError(f"they are nested deeper than {DEEPEST}")
    return plain


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = next(key for key in made if sum(key == other for other, _ in pairs) > 1)
        raise ValueError(f"{twice!r} is there twice")
    return made


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")


def _int(text: str) -> int:
    if len(text) > LONGEST_NUMBER:
        raise ValueError("a number is too long")
    return int(text)


def _float(text: str) -> int | float:
    """`5.0` is an integer in JSON Schema."""
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError("a number is too large")
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse, parse_int=_int, parse_float=_float)


def _depths(node: Any, depth: int = 0) -> Iterator[int]:
    yield depth
    if depth <= DEEPEST:
        for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
            yield from _depths(inner, depth + 1)


def _said(detail: "ErrorDetails", reader: "TypeAdapter[Any]") -> str:
    place = ".".join(map(str, detail["loc"])) or "arguments"
    if detail["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        near = get_close_matches(str(detail["loc"][-1]), _keys(schema_of(reader)), n=1)
        return f"{place}: there is no such key" + (f", did you mean {near[0]!r}?" if near else "")
    if detail["type"] == "missing":
        return f"{place}: is missing"
    found = type(detail["input"]).__name__
    return f"{place}: {detail['msg']}" + (f", not {found}" if "type" in detail["type"] else "")


def _keys(schema: Any) -> list[str]:
    """Every key that the arguments may have, at any depth."""
    if isinstance(schema, list):
        return [key for item in schema for key in _keys(item)]
    if not isinstance(schema, dict):
        return []
    inner = [key for value in schema.values() for key in _keys(value)]
    return [*schema.get("properties", {}), *inner] if schema.get("type") == "object" else inner
