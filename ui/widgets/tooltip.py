"""Escapes untrusted text for tooltips, in which Qt would interpret markup and load images."""

from html import escape

from ui.text.visible import visible


def tooltip_text(text: str) -> str:
    """Return text for a tooltip that shows it literally; text that Qt could interpret as markup is escaped."""
    visible_text = visible(text)
    if not {"<", "&"} & set(visible_text):
        return visible_text
    return f"<p style='white-space:pre-wrap'>{escape(visible_text)}</p>"
