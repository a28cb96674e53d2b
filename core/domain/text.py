"""Text and attachments as events store them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Text:
    """Text of any length.

    Long text is stored as a blob: then `head` holds its beginning, `blob` the name of the blob with the full text, and
    `size` its length in bytes. Otherwise `head` is the full text.
    """

    head: str = ""
    size: int = 0
    blob: str = ""


def normalized(text: str) -> str:
    """Return a text without differences in case and white space, for comparisons."""
    return " ".join(text.casefold().split())


@dataclass(frozen=True, slots=True)
class Attachment:
    """An image or a document that the user sent or a tool returned. Its contents are a blob of `size` bytes.

    `retired` is set in messages, never in events: a compaction has removed the contents from what is sent to the model.
    """

    name: str
    media_type: str
    blob: str
    size: int = 0
    retired: bool = False


def end_sentence(text: str) -> str:
    """Return a text with a period at its end, unless it already ends a sentence or is shortened there."""
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."
