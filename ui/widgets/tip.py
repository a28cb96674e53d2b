"""What a tip says of words of others: Qt would read tags in it and open the pictures they name."""

from html import escape

from ui.visible import visible


def tip(text: str) -> str:
    """As it is written; what could be taken for markup is wrapped into markup that shows it."""
    shown = visible(text)
    return f"<p style='white-space:pre-wrap'>{escape(shown)}</p>" if {"<", "&"} & set(shown) else shown
