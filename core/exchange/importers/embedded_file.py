"""A file that is embedded in a transcript."""

from typing import NamedTuple


class EmbeddedFile(NamedTuple):
    """A file, usually an image, whose content is part of a message or of a tool result."""

    name: str
    media_type: str
    content: bytes
