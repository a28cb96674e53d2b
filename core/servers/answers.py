"""What a tool server answered, as words and pictures; and its faults in words."""

import base64
import binascii
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ContentBlock

SHOWN = 200_000
LARGEST = 8 << 20  # of one picture
IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


class Picture(NamedTuple):
    name: str
    media_type: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """Of one call."""

    text: str
    failed: bool = False
    pictures: tuple[Picture, ...] = ()


def answer_of(answer: "CallToolResult") -> Answer:
    """Its words, and its pictures; what cannot be shown is named."""
    words: list[str] = []
    shown: list[Picture] = []
    for number, block in enumerate(answer.content, 1):
        picture = _picture(block, number)
        if picture:
            shown.append(picture)
        words.append(f"[{picture.name}]" if picture else _words(block))
    text = "\n".join(words)
    if not text and answer.structured_content is not None:
        text = json.dumps(answer.structured_content, ensure_ascii=False)
    note = "\n[cut: the answer is longer]" if len(text) > SHOWN else ""
    return Answer(f"{text[:SHOWN]}{note}", bool(answer.is_error), tuple(shown))


def _words(block: "ContentBlock") -> str:
    match block.type:
        case "text":
            return block.text
        case "resource":
            named = str(block.resource.uri)
            text = getattr(block.resource, "text", None)
            return f"{named}\n{text}" if isinstance(text, str) else f"[{named}: a file that is no text]"
        case "resource_link":
            return f"[{block.name}: {block.uri}]"
        case "image" | "audio":
            return f"[{block.type} of the kind {block.mime_type[:60]}, which cannot be shown]"


def _picture(block: "ContentBlock", number: int) -> Picture | None:
    if block.type != "image" or block.mime_type not in IMAGES or len(block.data) > LARGEST:
        return None
    try:
        body = base64.b64decode(block.data, validate=True)
    except binascii.Error:
        return None
    return Picture(f"image {number}", block.mime_type, body)
