"""Output schemas for structured replies: strictness, and an instruction for providers that cannot enforce a schema."""

import json
from collections.abc import Mapping
from typing import Any


def is_strict(schema: Any) -> bool:
    """Return whether a schema satisfies strict mode: every object requires all its properties and forbids others."""
    if isinstance(schema, list):
        return all(map(is_strict, schema))
    if not isinstance(schema, Mapping):
        return True
    fields = schema.get("properties")
    if schema.get("type") == "object" or isinstance(fields, Mapping):
        names = set(fields) if isinstance(fields, Mapping) else set()
        if schema.get("additionalProperties") is not False or names != set(schema.get("required", ())):
            return False
    return all(map(is_strict, schema.values()))


def schema_instruction(schema: Mapping[str, Any]) -> str:
    """Return a prompt that instructs the model to follow the schema."""
    return f"Reply with one JSON object and nothing else. It must match this JSON schema:\n{json.dumps(schema)}"
