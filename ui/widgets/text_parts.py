"""Texts in which the parts that match a search are highlighted."""

from typing import NamedTuple


class TextPart(NamedTuple):
    """A part of a text, and whether it matches the search."""

    text: str
    is_match: bool
