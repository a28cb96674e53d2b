"""Parses messages in the formats of the Messages API and the Chat Completions API, which many programs store."""

import base64
import binascii
import json
from collections.abc import Sequence
from typing import Any

from core.domain.events import Usage
from core.exchange.importers.foreign_call import ForeignCall, plain_text
from core.exchange.importers.record import parse_count

Images = list[tuple[str, str, bytes]]
# One encoder for all calls: `json.dumps` would create one for each value.
_json = json.JSONEncoder(ensure_ascii=False).encode


def tool_use_calls(content: Any) -> list[ForeignCall]:
    """Return the tool calls among the content blocks of a message."""
    parts = content if isinstance(content, list) else []
    return [
        ForeignCall(str(part.get("id") or ""), str(part.get("name") or "tool"), arguments_json(part.get("input")))
        for part in parts
        if isinstance(part, dict) and part.get("type") == "tool_use"
    ]


def tool_results(content: Any) -> list[tuple[str, str, bool, Images]]:
    """Return the call ID, text, failure and images of each tool result among the content blocks of a message."""
    parts = content if isinstance(content, list) else []
    return [
        (
            str(part.get("tool_use_id") or ""), plain_text(part.get("content")), part.get("is_error") is True,
            images(part["content"] if isinstance(part.get("content"), list) else []),
        )
        for part in parts
        if isinstance(part, dict) and part.get("type") == "tool_result"
    ]  # fmt: skip


def text_parts(content: Any) -> str:
    """Return the text of message content. Parts of other types, such as reasoning, are left out."""
    if not isinstance(content, list):
        return plain_text(content)
    return plain_text([part for part in content if isinstance(part, dict) and part.get("type") == "text"])


def chat_calls(calls: Any) -> list[ForeignCall]:
    """Return the calls in the `tool_calls` of a Chat Completions message.

    Some programs store `name` and `arguments` directly in a call, not in an object `function`.
    """
    foreign_calls = []
    for call in calls if isinstance(calls, list) else []:
        if isinstance(call, dict):
            inner = call.get("function")
            function: dict[str, Any] = inner if isinstance(inner, dict) else {**call, "name": inner or call.get("name")}
            foreign_calls.append(
                ForeignCall(
                    str(call.get("id") or ""),
                    str(function.get("name") or "tool"),
                    arguments_json(function.get("arguments")),
                )
            )
    return foreign_calls


def reasoning_text(content: Any) -> str:
    """Return the reasoning text among the content parts of a message."""
    parts = content if isinstance(content, list) else []
    texts = (
        part.get("thinking") or part.get("reasoning") or part.get("text")
        for part in parts
        if isinstance(part, dict) and part.get("type") in ("thinking", "reasoning")
    )  # fmt: skip
    return "\n".join(text for text in texts if isinstance(text, str) and text)


def images(parts: Sequence[Any]) -> Images:
    """Return the name, media type and bytes of each image that is embedded in the parts of a message."""
    images: Images = []
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
            images.append((f"image {len(images) + 1}", media, body))
    return images


def mcp_images(content: Any) -> Images:
    """Return the name, media type and bytes of each image in content blocks in the format of MCP."""
    images: Images = []
    for part in content if isinstance(content, list) else []:
        if isinstance(part, dict) and part.get("type") == "image" and isinstance(part.get("data"), str):
            try:
                body = base64.b64decode(part["data"], validate=True)
            except (binascii.Error, ValueError):
                continue
            images.append((f"image {len(images) + 1}", str(part.get("mimeType") or "image/png"), body))
    return images


def parse_usage(usage: Any) -> Usage:
    """Parse a usage object of the Messages API or the Chat Completions API."""
    if not isinstance(usage, dict):
        return Usage()
    if "prompt_tokens" in usage or "completion_tokens" in usage:
        input, output = usage.get("prompt_tokens_details") or {}, usage.get("completion_tokens_details") or {}
        return Usage(
            parse_count(usage.get("prompt_tokens")), parse_count(usage.get("completion_tokens")),
            parse_count(input.get("cached_tokens")) if isinstance(input, dict) else 0, 0,
            parse_count(output.get("reasoning_tokens")) if isinstance(output, dict) else 0,
        )  # fmt: skip
    cache_read, cache_write = (
        parse_count(usage.get("cache_read_input_tokens")),
        parse_count(usage.get("cache_creation_input_tokens")),
    )
    return Usage(
        parse_count(usage.get("input_tokens")) + cache_read + cache_write,
        parse_count(usage.get("output_tokens")),
        cache_read,
        cache_write,
    )


def arguments_json(value: Any) -> str:
    """Encode the arguments of a call as JSON. A string is assumed to be JSON already."""
    if value is None:
        return "{}"
    return value if isinstance(value, str) else _json(value)


def dicts(values: Any) -> list[dict[str, Any]]:
    """Return the objects in a list; empty if it is not a list."""
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


def dict_or_empty(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _body(data: Any) -> bytes:
    try:
        return base64.b64decode(data, validate=True) if isinstance(data, str) else b""
    except (binascii.Error, ValueError):
        return b""
