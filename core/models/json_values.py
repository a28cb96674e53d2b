"""Tolerant reading of JSON values from providers, including implausible token counts."""

import json
from math import isfinite
from typing import Any

from core.domain.events import Usage

MAX_TOKENS = 100_000_000  # a higher token count must be an error of the provider
USAGE_NOTE = "The provider reported impossible token counts, which were ignored."


def parse_usage(
    input: Any, output: Any, cache_read: Any = 0, cache_write: Any = 0, reasoning: Any = 0
) -> tuple[Usage, str]:
    """Return the usage with implausible counts corrected, and a note for the user if there were any, else ""."""
    counts = [_count(value) for value in (input, output, cache_read, cache_write, reasoning)]
    input_tokens, output_tokens, *parts = (count or 0 for count in counts)
    read_tokens = min(parts[0], input_tokens)
    corrected = [read_tokens, min(parts[1], input_tokens - read_tokens), min(parts[2], output_tokens)]
    implausible = None in counts or corrected != parts
    return Usage(input_tokens, output_tokens, *corrected), USAGE_NOTE if implausible else ""


def _count(value: Any) -> int | None:
    """Return a token count, 0 if it is missing, or None if it is implausible."""
    if value is None:
        return 0
    return int(value) if _is_number(value) and 0 <= value <= MAX_TOKENS else None


def get_path(plain: Any, *path: str) -> Any:
    """Return the value at a path of keys in nested objects; None if a key is missing."""
    for name in path:
        if not isinstance(plain, dict):
            return None
        plain = plain.get(name)
    return plain


def as_count(value: Any) -> int | None:
    """Return a positive count below 10**15 from a number or a decimal string; None for anything else."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 16:
        value = int(value)
    return int(value) if _is_number(value) and 0 < value < 10**15 else None


def _is_number(value: Any) -> bool:
    """Return whether a value is a finite number, without `isfinite` for integers, which fails for huge ones."""
    return (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and isfinite(value))


def as_text(value: Any) -> str:
    """Return the value if it is a string, else ""."""
    return value if isinstance(value, str) else ""


def as_objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a list, skipping other items; an empty list if the value is not a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def arguments_object(arguments: str) -> dict[str, Any]:
    """Decode call arguments into an object, as providers require; malformed text becomes `{"arguments": text}`."""
    plain = parse_json(arguments)
    return plain if isinstance(plain, dict) else {"arguments": arguments} if arguments.strip() else {}


def arguments_json(arguments: str) -> str:
    """Return call arguments as the JSON text of an object; valid arguments are returned unchanged."""
    return (
        arguments
        if isinstance(parse_json(arguments), dict)
        else json.dumps(arguments_object(arguments), ensure_ascii=False)
    )


def parse_json(text: str) -> Any:
    """Decode JSON, or return None if the text is not valid JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
