"""A text with its tone, such as the result of an action."""

from typing import NamedTuple


class TonedText(NamedTuple):
    """A text, and the tone (color) in which a label shows it, such as `done`, `waiting` or `failed`."""

    text: str
    tone: str
