"""Parses messages in the formats of the Messages API and the Chat Completions API, which many programs store."""

import base64
import binascii
import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from core.domain.events import Usage
from core.exchange.importers.embedded_file import EmbeddedFile
from core.exchange.importers.foreign_call import ForeignCall, plain_text
from core.exchange.importers.record import (
    parse_count,
    read_usage,
)

# One encoder for all calls: `json.dumps` would create one for each value.
_encode_json = json.JSONEncoder(ensure_ascii=False).encode


class _Image(NamedTuple):
    """An image in a message. `content` is empty if it could not be decoded, or if the part of the message has none."""

    media_type: str
    content: bytes


class ForeignResult(NamedTuple):
    """The result of a tool call in a transcript."""

    call_id: str
    text: str
    failed: bool
    images: list[EmbeddedFile]


def tool_use_calls(content: Any) -> list[ForeignCall]:
    """Return the tool calls among the content blocks of a message."""
    return [
        ForeignCall(str(part.get("id") or ""), str(part.get("name") or "tool"), arguments_json(part.get("input")))
        for part in dicts(content)
        if part.get("type") == "tool_use"
    ]


def tool_results(content: Any) -> list[ForeignResult]:
    """Return the tool results among the content blocks of a message."""
    return [
        ForeignResult(
            call_id=str(part.get("tool_use_id") or ""),
            text=plain_text(part.get("content")),
            failed=part.get("is_error") is True,
            images=embedded_images(part.get("content")),
        )
        for part in dicts(content)
        if part.get("type") == "tool_result"
    ]


def text_of_parts(content: Any) -> str:
    """Return the text of message content. Parts of other types, such as reasoning, are left out."""
    if not isinstance(content, list):
        return plain_text(content)
    return plain_text([part for part in dicts(content) if part.get("type") == "text"])


def chat_calls(calls: Any) -> list[ForeignCall]:
    """Return the calls in the `tool_calls` of a Chat Completions message.

    Some programs store `name` and `arguments` directly in a call, not in an object `function`.
    """
    return [_chat_call(call) for call in dicts(calls)]


def _chat_call(call: dict[str, Any]) -> ForeignCall:
    function = call.get("function")
    if not isinstance(function, dict):
        function = {**call, "name": function or call.get("name")}
    return ForeignCall(
        str(call.get("id") or ""), str(function.get("name") or "tool"), arguments_json(function.get("arguments"))
    )


def reasoning_text(content: Any) -> str:
    """Return the reasoning text among the content parts of a message."""
    texts = (
        part.get("thinking") or part.get("reasoning") or part.get("text")
        for part in dicts(content)
        if part.get("type") in ("thinking", "reasoning")
    )
    return "\n".join(text for text in texts if isinstance(text, str) and text)


def embedded_images(content: Any) -> list[EmbeddedFile]:
    """Return the images that are embedded in the content parts of a message."""
    return _name_images(map(_embedded_image, dicts(content)))


def _embedded_image(part: dict[str, Any]) -> _Image:
    """Decode the image in a content part of the Messages API, or of the Chat Completions API."""
    source = dict_or_empty(part.get("source"))
    if source.get("type") == "base64":
        return _Image(str(source.get("media_type") or "image/png"), _decode_base64(source.get("data")))
    return _decode_data_url(part.get("image_url"))


def mcp_images(content: Any) -> list[EmbeddedFile]:
    """Return the images in content blocks in the format of MCP."""
    return _name_images(
        _Image(str(part.get("mimeType") or "image/png"), _decode_base64(part.get("data")))
        for part in dicts(content)
        if part.get("type") == "image"
    )


def _name_images(images: Iterable[_Image]) -> list[EmbeddedFile]:
    """Name the images that could be decoded `image 1`, `image 2` and so on."""
    decoded = [image for image in images if image.content]
    return [EmbeddedFile(f"image {number}", image.media_type, image.content) for number, image in enumerate(decoded, 1)]


def _decode_data_url(url: Any) -> _Image:
    """Decode a URL such as `data:image/png;base64,…`. Other URLs have no content."""
    text = str(url.get("url") if isinstance(url, dict) else url)
    header, _, data = text.partition(",")
    if not (header.startswith("data:") and header.endswith(";base64")):
        return _Image("", b"")
    return _Image(header.removeprefix("data:").removesuffix(";base64"), _decode_base64(data))


def parse_usage(usage: Any) -> Usage:
    """Parse a usage object of the Messages API or the Chat Completions API."""
    if not isinstance(usage, dict):
        return Usage()
    if "prompt_tokens" in usage or "completion_tokens" in usage:
        prompt_details = dict_or_empty(usage.get("prompt_tokens_details"))
        reply_details = dict_or_empty(usage.get("completion_tokens_details"))
        return Usage(
            input=parse_count(usage.get("prompt_tokens")),
            output=parse_count(usage.get("completion_tokens")),
            cache_read=parse_count(prompt_details.get("cached_tokens")),
            reasoning=parse_count(reply_details.get("reasoning_tokens")),
        )
    return read_usage(
        usage,
        input="input_tokens",
        output="output_tokens",
        cache_read="cache_read_input_tokens",
        cache_write="cache_creation_input_tokens",
        input_excludes_cache=True,
    )


def arguments_json(value: Any) -> str:
    """Encode the arguments of a call as JSON. A string is assumed to be JSON already."""
    if value is None:
        return "{}"
    return value if isinstance(value, str) else _encode_json(value)


def output_text(output: Any) -> str:
    """Return the output of a tool as text: a string as it is, and any other value as JSON."""
    return arguments_json(output)


def dicts(values: Any) -> list[dict[str, Any]]:
    """Return the objects in a list; empty if it is not a list."""
    return [value for value in list_or_empty(values) if isinstance(value, dict)]


def list_or_empty(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def dict_or_empty(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def first_text(values: dict[str, Any], *names: str) -> str:
    """Return the first of these members that is not empty, as text; "" if there is none."""
    return next((str(value) for name in names if (value := values.get(name))), "")


def _decode_base64(data: Any) -> bytes:
    try:
        return base64.b64decode(data, validate=True) if isinstance(data, str) else b""
    except (binascii.Error, ValueError):
        return b""
