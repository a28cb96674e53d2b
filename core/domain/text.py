"""Words and pictures as facts hold them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Text:
    """Words of any length. Long ones are kept apart: then `head` is their start and `blob` names the whole."""

    head: str = ""
    size: int = 0
    blob: str = ""


@dataclass(frozen=True, slots=True)
class Attachment:
    """An image or a document that the person sent along, or a tool gives; its contents are a blob."""

    name: str
    media_type: str
    blob: str
    size: int = 0
