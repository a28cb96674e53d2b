"""Images and documents as parts of a message; what cannot be sent is said in words instead."""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from core.domain.messages import Message
from core.domain.text import Attachment
from core.models.model import Request

IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
PDF = "application/pdf"
WORDS = frozenset({"application/json", "application/xml", "application/yaml", "application/toml"})

Part = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Shapes:
    """How a wire writes each kind of part; None where it has no way to. The second argument is base64."""

    text: Callable[[str], Part]
    image: Callable[[Attachment, str], Part] | None = None
    pdf: Callable[[Attachment, str], Part] | None = None


def parts_of(message: Message, request: Request, shapes: Shapes) -> list[Part]:
    """The attachments of a message, then its words."""
    parts = [_part(attachment, request, shapes) for attachment in message.attachments]
    words = request.whole(message.text)
    return [*parts, shapes.text(words)] if words or not parts else parts


def _part(attachment: Attachment, request: Request, shapes: Shapes) -> Part:
    data = request.contents(attachment)
    if not data:
        return shapes.text(f"[{attachment.name} was attached here; its contents are no longer at hand.]")
    if attachment.media_type.startswith("text/") or attachment.media_type in WORDS:
        return shapes.text(f"[{attachment.name}]\n{data.decode('utf-8', 'replace')}")
    shape = _shape(attachment.media_type, shapes)
    if shape is None:
        kind = attachment.media_type or "of no known kind"
        return shapes.text(f"[{attachment.name} ({kind}, {len(data):,} bytes) cannot be sent to this model.]")
    return shape(attachment, base64.b64encode(data).decode())


def _shape(media_type: str, shapes: Shapes) -> Callable[[Attachment, str], Part] | None:
    if media_type in IMAGES:
        return shapes.image
    return shapes.pdf if media_type == PDF else None


def data_url(attachment: Attachment, data: str) -> str:
    return f"data:{attachment.media_type};base64,{data}"
