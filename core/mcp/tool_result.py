"""Conversion of MCP tool results to text and images."""

import base64
import binascii
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ContentBlock

MAX_TEXT_LENGTH = 200_000
MAX_IMAGES = 20
MAX_IMAGE_SIZE = 8 << 20  # bytes of one image, base64-encoded
IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


class ResultImage(NamedTuple):
    name: str
    media_type: str
    body: bytes


@dataclass(frozen=True, slots=True)
class McpToolResult:
    """The result of one tool call."""

    text: str
    failed: bool = False
    images: tuple[ResultImage, ...] = ()


def parse_tool_result(answer: "CallToolResult") -> McpToolResult:
    """Return the text and images of a result. Content that cannot be shown is named in the text."""
    lines: list[str] = []
    images: list[ResultImage] = []
    for number, block in enumerate(answer.content, 1):
        image = _block_image(block, number) if len(images) < MAX_IMAGES else None
        if image:
            images.append(image)
        lines.append(f"[{image.name}]" if image else _block_text(block))
    text = "\n".join(lines)
    if not text and answer.structured_content is not None:
        text = json.dumps(answer.structured_content, ensure_ascii=False)
    note = "\n[truncated: the result is longer]" if len(text) > MAX_TEXT_LENGTH else ""
    return McpToolResult(f"{text[:MAX_TEXT_LENGTH]}{note}", bool(answer.is_error), tuple(images))


def _block_text(block: "ContentBlock") -> str:
    match block.type:
        case "text":
            return block.text
        case "resource":
            uri = str(block.resource.uri)
            text = getattr(block.resource, "text", None)
            return f"{uri}\n{text}" if isinstance(text, str) else f"[{uri}: a binary file]"
        case "resource_link":
            return f"[{block.name}: {block.uri}]"
        case "image" | "audio":
            return f"[{block.type} of type {block.mime_type[:60]}, which cannot be shown]"


def _block_image(block: "ContentBlock", number: int) -> ResultImage | None:
    if block.type != "image" or block.mime_type not in IMAGES or len(block.data) > MAX_IMAGE_SIZE:
        return None
    try:
        body = base64.b64decode(block.data, validate=True)
    except binascii.Error:
        return None
    return ResultImage(f"image {number}", block.mime_type, body)
