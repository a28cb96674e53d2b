"""What a message carries besides its text, before the message is recorded."""

from typing import NamedTuple


class AttachedFile(NamedTuple):
    """A file that the user attached. It is read when it is attached, so that later changes are not sent unnoticed."""

    name: str
    media_type: str
    body: bytes


class EmbeddedText(NamedTuple):
    """The text of a file that an editor has put into a prompt."""

    name: str
    text: str
