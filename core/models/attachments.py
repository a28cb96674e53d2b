"""Encodes attachments as parts of a message. A note replaces an attachment that cannot be sent."""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from core.domain.messages import Message
from core.domain.text import Attachment
from core.models.model import Request

IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
PDF = "application/pdf"
TEXT_TYPES = frozenset({"application/json", "application/xml", "application/yaml", "application/toml"})
RECALL_KEY_LENGTH = 12  # characters of a blob name that identify a retired attachment for the model

Part = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PartEncoders:
    """How an API format encodes each kind of part; None if unsupported. The second argument is the data as base64."""

    text: Callable[[str], Part]
    image: Callable[[Attachment, str], Part] | None = None
    pdf: Callable[[Attachment, str], Part] | None = None


def message_parts(message: Message, request: Request, encoders: PartEncoders) -> list[Part]:
    """Return the attachments of a message as parts, followed by its text."""
    parts = [_part(attachment, request, encoders) for attachment in message.attachments]
    text = request.read_text(message.text)
    return [*parts, encoders.text(text)] if text or not parts else parts


def is_text(attachment: Attachment) -> bool:
    """Return whether an attachment is text by its media type, so that it is sent as text."""
    return attachment.media_type.startswith("text/") or attachment.media_type in TEXT_TYPES


def recall_key(attachment: Attachment) -> str:
    """Return the id with which the model requests a retired attachment from the tool `recall_dropped`."""
    return attachment.blob[:RECALL_KEY_LENGTH]


def _part(attachment: Attachment, request: Request, encoders: PartEncoders) -> Part:
    if attachment.retired:
        return encoders.text(
            f"[{attachment.name} was removed to save context. "
            f'View it again with recall_dropped {{"id": "{recall_key(attachment)}"}}.]'
        )
    data = request.read_attachment(attachment)
    if not data:
        return encoders.text(f"[{attachment.name} was attached here; its contents are no longer available.]")
    if is_text(attachment):
        return encoders.text(f"[{attachment.name}]\n{data.decode('utf-8', 'replace')}")
    encode = _encoder(attachment.media_type, encoders)
    if encode is None:
        kind = attachment.media_type or "unknown type"
        return encoders.text(f"[{attachment.name} ({kind}, {len(data):,} bytes) cannot be sent to this model.]")
    return encode(attachment, base64.b64encode(data).decode())


def _encoder(media_type: str, encoders: PartEncoders) -> Callable[[Attachment, str], Part] | None:
    if media_type in IMAGES:
        return encoders.image
    return encoders.pdf if media_type == PDF else None


def data_url(attachment: Attachment, data: str) -> str:
    return f"data:{attachment.media_type};base64,{data}"
