"""The origin of content. Content that the user did not write is marked as data for the model, and may be untrusted."""

import re
import secrets
from dataclasses import dataclass
from typing import Literal

from core.domain.visible import strip_colors, visible

Origin = Literal["user", "app", "model", "folder", "command", "web", "mcp", "import", "memory"]

UNTRUSTED_ORIGINS: frozenset[Origin] = frozenset({"web", "mcp", "import"})
DATA_ORIGINS: frozenset[Origin] = UNTRUSTED_ORIGINS | {"folder", "command", "memory"}
SOURCE_LIMIT = 300
# There are 20 ** 8 boundaries, none of which is a word.
BOUNDARY_LETTERS = "bcdfghjklmnpqrstvwxz"
BOUNDARY_LENGTH = 8


@dataclass(frozen=True, slots=True)
class ContentSource:
    """The origin of content, and its name, such as a path, a URL or an MCP server."""

    origin: Origin
    name: str = ""


def new_boundary() -> str:
    """Return a random token for the tags that enclose data in a session, so that untrusted content cannot guess it.

    Every tag repeats the token. It consists of letters, because models use fewer tokens for them than for digits.
    """
    return "".join(secrets.choice(BOUNDARY_LETTERS) for _ in range(BOUNDARY_LENGTH))


def is_untrusted(source: ContentSource, *, trusted: bool = True) -> bool:
    """Return whether content from this source is untrusted, so that outbound access needs approval afterwards.

    `trusted`: the user trusts the folder, and therefore its files and the output of commands.
    """
    return source.origin in UNTRUSTED_ORIGINS or (source.origin in ("folder", "command") and not trusted)


def source_label(source: ContentSource) -> str:
    """Return a source as events and labels show it, such as `web: example.com`."""
    name = _name(source.name)
    return f"{source.origin}: {name}" if name else source.origin


def mark_as_data(text: str, source: ContentSource, boundary: str) -> str:
    """Enclose content in tags that the content cannot close, and make its hidden characters visible.

    Content with another origin than `DATA_ORIGINS`, such as the user's, is returned unchanged. The tags of files omit
    the origin, because they are by far the most frequent and the path says enough.
    """
    if source.origin not in DATA_ORIGINS:
        return text
    content = re.sub(re.escape(boundary), "⟦boundary⟧", visible(strip_colors(text)), flags=re.IGNORECASE)
    name = re.sub(re.escape(boundary), "⟦boundary⟧", _name(source.name), flags=re.IGNORECASE).replace('"', "'")
    origin = "" if source.origin == "folder" else f' from="{source.origin}"'
    return f'<data-{boundary}{origin} name="{name}">\n{content}\n</data-{boundary}>'


def without_data_tags(text: str, boundary: str) -> str:
    """Return text without the tags that enclose data, which small models copy from file contents into their edits.

    The line breaks inside the tags are removed too, also in the form of JSON escapes.
    """
    if not boundary or f"data-{boundary}" not in text:
        return text
    tag = f"data-{re.escape(boundary)}"
    return re.sub(rf"<{tag}[^<>]*>(?:\\n|\n)?|(?:\\n|\n)?</{tag}>", "", text)


def _name(name: str) -> str:
    line = " ".join(visible(name).split())
    return line if len(line) <= SOURCE_LIMIT else line[: SOURCE_LIMIT - 1] + "…"
