"""Renders untrusted Markdown as HTML for exports: without raw HTML, images and unusual link schemes."""

from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ui.text.visible import visible

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

LIMIT = 1 << 20  # characters; a longer text is cut
NESTING = 20
SCHEMES = frozenset({"http", "https", "mailto", ""})


def markdown_to_html(text: str) -> str:
    """Return `text` as HTML with headings, lists, code and tables."""
    rendered: str = _renderer().render(text[:LIMIT].replace("\0", "\ufffd"))
    return rendered


@lru_cache(maxsize=1)
def _renderer() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # imported late, because the import takes 33 ms and only exports need it

    renderer = MarkdownIt("commonmark", {"html": False, "maxNesting": NESTING}).enable(["table", "strikethrough"])
    renderer.disable("image")
    renderer.validateLink = _is_allowed_link  # type: ignore[method-assign]
    renderer.add_render_rule("link_open", _link)
    renderer.add_render_rule("text", _text)
    return renderer


def _is_allowed_link(url: str) -> bool:
    try:
        return urlsplit(url).scheme.lower() in SCHEMES and not url.startswith("//")
    except ValueError:
        return False


def _text(_renderer: Any, tokens: Any, index: int, _options: Any, _env: Any) -> str:
    """Render text. Hidden characters are made visible here, because the parser may have decoded them from entities."""
    return escape(visible(tokens[index].content))


def _link(renderer: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
    """Render a link with the attributes that keep a browser from sending a referrer."""
    tokens[index].attrSet("rel", "noopener noreferrer nofollow")
    rendered: str = renderer.renderToken(tokens, index, options, env)
    return rendered
