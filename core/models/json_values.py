"""Tolerant reading of JSON values from providers, including implausible token counts."""

import json
from math import isfinite
from typing import Any, NamedTuple

from core.domain.events import Usage

MAX_TOKENS = 100_000_000  # a higher token count must be an error of the provider
IMPLAUSIBLE_COUNT = -1
USAGE_NOTE = "The provider reported impossible token counts, which were ignored."


class CheckedUsage(NamedTuple):
    """The token usage of a reply, None if unknown, and a note for the user if counts were implausible."""

    usage: Usage | None = None
    note: str = ""


def parse_usage(
    *, prompt: Any, completion: Any, cache_read: Any = 0, cache_write: Any = 0, reasoning: Any = 0
) -> CheckedUsage:
    """Return the usage with implausible counts corrected. Prompt and completion include the other counts."""
    counts = [_count(value) for value in (prompt, completion, cache_read, cache_write, reasoning)]
    prompt_tokens, completion_tokens, *parts = (count or 0 for count in counts)
    read_tokens = min(parts[0], prompt_tokens)
    write_tokens = min(parts[1], prompt_tokens - read_tokens)
    reasoning_tokens = min(parts[2], completion_tokens)
    usage = Usage(
        input=prompt_tokens,
        output=completion_tokens,
        cache_read=read_tokens,
        cache_write=write_tokens,
        reasoning=reasoning_tokens,
    )
    is_implausible = None in counts or [read_tokens, write_tokens, reasoning_tokens] != parts
    return CheckedUsage(usage, USAGE_NOTE if is_implausible else "")


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
    value = parse_json(arguments)
    if isinstance(value, dict):
        return value
    return {"arguments": arguments} if arguments.strip() else {}


def arguments_json(arguments: str) -> str:
    """Return call arguments as the JSON text of an object; valid arguments are returned unchanged."""
    if isinstance(parse_json(arguments), dict):
        return arguments
    return json.dumps(arguments_object(arguments), ensure_ascii=False)


def parse_json(text: str) -> Any:
    """Decode JSON, or return None if the text is not valid JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
