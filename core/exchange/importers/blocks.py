"""Parts of messages that several programs write alike: those of the Messages format, and those of chat completions."""

import base64
import binascii
import json
from collections.abc import Sequence
from typing import Any

from core.domain.events import Usage
from core.exchange.importers.called import Asked
from core.exchange.importers.record import number

Files = list[tuple[str, str, bytes]]
_json = json.JSONEncoder(ensure_ascii=False).encode  # `dumps` would make one for each value


def block_calls(content: Any) -> list[Asked]:
    """The calls among the blocks of a message."""
    parts = content if isinstance(content, list) else []
    return [
        Asked(str(part.get("id") or ""), str(part.get("name") or "tool"), as_json(part.get("input")))
        for part in parts
        if isinstance(part, dict) and part.get("type") == "tool_use"
    ]


def chat_calls(calls: Any) -> list[Asked]:
    """`tool_calls` of a message of chat completions, also where the function is flat."""
    found = []
    for call in calls if isinstance(calls, list) else []:
        if isinstance(call, dict):
            inner = call.get("function")
            named: dict[str, Any] = inner if isinstance(inner, dict) else {**call, "name": inner or call.get("name")}
            found.append(
                Asked(str(call.get("id") or ""), str(named.get("name") or "tool"), as_json(named.get("arguments")))
            )
    return found


def thoughts(content: Any) -> str:
    """The reasoning among the parts of a message."""
    parts = content if isinstance(content, list) else []
    said = (
        part.get("thinking") or part.get("reasoning") or part.get("text")
        for part in parts
        if isinstance(part, dict) and part.get("type") in ("thinking", "reasoning")
    )  # fmt: skip
    return "\n".join(text for text in said if isinstance(text, str) and text)


def images(parts: Sequence[Any]) -> Files:
    """Pictures that are in the transcript itself."""
    found: Files = []
    for part in parts:
        if not isinstance(part, dict):
            continue
        source = part.get("source")
        url = part.get("image_url")
        if isinstance(source, dict) and source.get("type") == "base64":
            body = _body(source.get("data"))
            media = str(source.get("media_type") or "image/png")
        elif url:
            text = url.get("url") if isinstance(url, dict) else url
            head, _, data = str(text).partition(",")
            body = _body(data) if head.startswith("data:") and head.endswith(";base64") else b""
            media = head.removeprefix("data:").removesuffix(";base64")
        else:
            continue
        if body:
            found.append((f"picture {len(found) + 1}", media, body))
    return found


def usage_of(usage: Any) -> Usage:
    """Tokens, as the Messages format or chat completions count them."""
    if not isinstance(usage, dict):
        return Usage()
    if "prompt_tokens" in usage or "completion_tokens" in usage:
        asked, more = usage.get("prompt_tokens_details") or {}, usage.get("completion_tokens_details") or {}
        return Usage(
            number(usage.get("prompt_tokens")), number(usage.get("completion_tokens")),
            number(asked.get("cached_tokens")) if isinstance(asked, dict) else 0, 0,
            number(more.get("reasoning_tokens")) if isinstance(more, dict) else 0,
        )  # fmt: skip
    cached, written = number(usage.get("cache_read_input_tokens")), number(usage.get("cache_creation_input_tokens"))
    return Usage(
        number(usage.get("input_tokens")) + cached + written, number(usage.get("output_tokens")), cached, written
    )


def as_json(value: Any) -> str:
    """Arguments as JSON; a string is taken to be that already."""
    if value is None:
        return "{}"
    return value if isinstance(value, str) else _json(value)


def _body(data: Any) -> bytes:
    try:
        return base64.b64decode(data, validate=True) if isinstance(data, str) else b""
    except (binascii.Error, ValueError):
        return b""
