"""Markdown as HTML for a file that is opened elsewhere: no tag, picture or strange address of its author's."""

from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

LIMIT = 1 << 20  # characters
NESTING = 20
SCHEMES = frozenset({"http", "https", "mailto", ""})


def html(text: str) -> str:
    """The words with their headings, lists, code and tables."""
    rendered: str = _renderer().render(text[:LIMIT].replace("\0", "\ufffd"))
    return rendered


@lru_cache(maxsize=1)
def _renderer() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # 33 ms that only an export needs

    made = MarkdownIt("commonmark", {"html": False, "maxNesting": NESTING}).enable(["table", "strikethrough"])
    made.disable("image")
    made.validateLink = _fit  # type: ignore[method-assign]
    made.add_render_rule("link_open", _link)
    return made


def _fit(url: str) -> bool:
    try:
        return urlsplit(url).scheme.lower() in SCHEMES and not url.startswith("//")
    except ValueError:
        return False


def _link(renderer: Any, tokens: Any, place: int, options: Any, env: Any) -> str:
    """Whoever is sent there does not learn from where."""
    tokens[place].attrSet("rel", "noopener noreferrer nofollow")
    rendered: str = renderer.renderToken(tokens, place, options, env)
    return rendered
