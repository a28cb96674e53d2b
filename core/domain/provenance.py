"""The origin of content. Content that the user did not write is marked as data for the model or even untrusted."""

import re
import secrets
from dataclasses import dataclass
from typing import Literal

from core.domain.visible import strip_colors, visible

Origin = Literal["user", "app", "model", "folder", "command", "web", "mcp", "import", "memory"]

UNTRUSTED_ORIGINS: frozenset[Origin] = frozenset({"web", "mcp", "import"})
DATA_ORIGINS: frozenset[Origin] = UNTRUSTED_ORIGINS | {"folder", "command", "memory"}
SOURCE_LIMIT = 300
BOUNDARY_LETTERS, BOUNDARY_LENGTH = "bcdfghjklmnpqrstvwxz", 8  # 26 thousand million boundaries, none of them a word


@dataclass(frozen=True, slots=True)
class ContentSource:
    """The origin of content, and its name: a path, an address or an MCP server."""

    origin: Origin
    name: str = ""


def new_boundary() -> str:
    """Return a random token for the tags that enclose data in a run, which untrusted content cannot have guessed.

    It is repeated in each tag, and models read a few letters as fewer tokens than as many digits.
    """
    return "".join(secrets.choice(BOUNDARY_LETTERS) for _ in range(BOUNDARY_LENGTH))


def is_untrusted(source: ContentSource, *, trusted: bool = True) -> bool:
    """Return whether content from this source is untrusted, so that outbound access needs approval afterwards.

    `trusted` means that the user trusts the folder, so that its files and the output of its commands are not untrusted.
    """
    return source.origin in UNTRUSTED_ORIGINS or (source.origin in ("folder", "command") and not trusted)


def source_label(source: ContentSource) -> str:
    """Return the source in the form that events and labels use, such as `web: example.com`."""
    name = _name(source.name)
    return f"{source.origin}: {name}" if name else source.origin


def mark_as_data(text: str, source: ContentSource, boundary: str) -> str:
    """Enclose content in tags that it cannot close itself, and make its hidden characters visible.

    Content whose origin is not in `DATA_ORIGINS`, such as the user's, is returned unchanged.
    """
    if source.origin not in DATA_ORIGINS:
        return text
    content = re.sub(re.escape(boundary), "⟦boundary⟧", visible(strip_colors(text)), flags=re.IGNORECASE)
    name = re.sub(re.escape(boundary), "⟦boundary⟧", _name(source.name), flags=re.IGNORECASE).replace('"', "'")
    return (
        f'<data-{boundary} from="{source.origin}" name="{name}">\n'
        f"{content}\n"
        f"</data-{boundary}>"
    )  # fmt: skip


def without_data_tags(text: str, boundary: str) -> str:
    """Return text without the tags that enclose data: small models copy them from a file into its edits.

    The newlines inside the tags are removed with them, also as JSON writes them.
    """
    if not boundary or f"data-{boundary}" not in text:
        return text
    tag = f"data-{re.escape(boundary)}"
    return re.sub(rf"<{tag}[^<>]*>(?:\\n|\n)?|(?:\\n|\n)?</{tag}>", "", text)


def _name(name: str) -> str:
    line = " ".join(visible(name).split())
    return line if len(line) <= SOURCE_LIMIT else line[: SOURCE_LIMIT - 1] + "…"
