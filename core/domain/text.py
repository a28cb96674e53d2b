"""Text and attachments as events store them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Text:
    """Text of any length.

    Long text is stored as a blob. Then `head` is only its beginning, `blob` the name of the blob with the full text,
    and `size` the length in bytes. Otherwise `head` is the full text.
    """

    head: str = ""
    size: int = 0
    blob: str = ""


def normalized(text: str) -> str:
    """Return a text for comparisons that ignore case and white space."""
    return " ".join(text.casefold().split())


@dataclass(frozen=True, slots=True)
class Attachment:
    """An image or a document that the user sent or a tool returned; its contents are the blob `blob` of `size` bytes.

    `retired` is set only in messages, not in events: a compaction has removed the contents from what the model
    receives.
    """

    name: str
    media_type: str
    blob: str
    size: int = 0
    retired: bool = False


def join_surrogates(text: str) -> str:
    """Replace each surrogate pair by the character that it encodes; lone surrogates are left unchanged."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text


def to_utf8(text: str) -> bytes:
    r"""Encode a text. A lone surrogate, which UTF-8 cannot represent, becomes an escape such as `\ud800`.

    Models write such an escape where JSON required them to escape its backslash too, so it is what they meant.
    """
    return join_surrogates(text).encode("utf-8", "backslashreplace")


def end_sentence(text: str) -> str:
    """Return a text that ends with a period, unless it already ends with `.`, `!`, `?` or `…`."""
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."
