"""Escapes untrusted text for tooltips, because Qt would interpret markup in them and load images."""

from html import escape

from ui.text.visible import visible


def tooltip_text(text: str) -> str:
    """Return a text that a tooltip shows literally: escaped if Qt would interpret it as markup."""
    visible_text = visible(text)
    if not {"<", "&"} & set(visible_text):
        return visible_text
    return f"<p style='white-space:pre-wrap'>{escape(visible_text)}</p>"
