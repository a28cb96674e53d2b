"""Wanted shapes of replies, for servers that check them and for those that must be told in words."""

import json
from collections.abc import Mapping
from typing import Any


def is_closed(schema: Any) -> bool:
    """Whether every object in it names all its fields and allows no others, as strict servers demand."""
    if isinstance(schema, list):
        return all(map(is_closed, schema))
    if not isinstance(schema, Mapping):
        return True
    fields = schema.get("properties")
    if schema.get("type") == "object" or isinstance(fields, Mapping):
        names = set(fields) if isinstance(fields, Mapping) else set()
        if schema.get("additionalProperties") is not False or names != set(schema.get("required", ())):
            return False
    return all(map(is_closed, schema.values()))


def instruction(schema: Mapping[str, Any]) -> str:
    """The schema as words for a model."""
    return f"Reply with one JSON object and nothing else. It must match this JSON schema:\n{json.dumps(schema)}"
