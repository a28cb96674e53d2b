"""Values as servers give them: read in every shape, and token counts not believed when they are impossible."""

import json
from math import isfinite
from typing import Any

from core.domain.events import Usage

MOST_TOKENS = 100_000_000  # a reply that claims more is wrong about it
NOTE = "The server's token counts are impossible and were left out."


def usage_of(input: Any, output: Any, cached: Any = 0, written: Any = 0, reasoning: Any = 0) -> tuple[Usage, str]:
    """The usage, and a note where a count could not be believed."""
    counts = [_count(value) for value in (input, output, cached, written, reasoning)]
    whole_in, whole_out = counts[0] or 0, counts[1] or 0
    parts = (counts[2] or 0, counts[3] or 0, counts[4] or 0)
    kept = (min(parts[0], whole_in), min(parts[1], whole_in - min(parts[0], whole_in)), min(parts[2], whole_out))
    doubtful = None in counts or kept != parts
    return Usage(whole_in, whole_out, *kept), NOTE if doubtful else ""


def _count(value: Any) -> int | None:
    """A count; None where it is impossible."""
    if value is None:
        return 0
    return int(value) if _is_number(value) and 0 <= value <= MOST_TOKENS else None


def at(plain: Any, *path: str) -> Any:
    """What stands at a path of nested objects; None where it leads nowhere."""
    for name in path:
        if not isinstance(plain, dict):
            return None
        plain = plain.get(name)
    return plain


def number(value: Any) -> int | None:
    """A positive whole number, or nothing."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 16:
        value = int(value)
    return int(value) if _is_number(value) and 0 < value < 10**15 else None


def _is_number(value: Any) -> bool:
    """Not every whole number can be asked whether it is finite."""
    return (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and isfinite(value))


def text(value: Any) -> str:
    """A text, or nothing."""
    return value if isinstance(value, str) else ""


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; whatever else stands there is passed over."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def as_object(arguments: str) -> dict[str, Any]:
    """Arguments of a call as servers take them back; sloppy ones as the text they were."""
    plain = loaded(arguments)
    return plain if isinstance(plain, dict) else {"arguments": arguments} if arguments.strip() else {}


def as_written(arguments: str) -> str:
    """The same as JSON text; what was an object stays as the model wrote it."""
    return arguments if isinstance(loaded(arguments), dict) else json.dumps(as_object(arguments), ensure_ascii=False)


def loaded(words: str) -> Any:
    """The JSON value of a text; None where it is none."""
    try:
        return json.loads(words)
    except (ValueError, RecursionError):
        return None
