"""Mentions of MCP resources (`@server:uri`) and MCP prompts (`/server:name`) in user messages."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from core.domain.problems import Problem
from core.domain.provenance import ContentSource, mark_as_data, source_label
from core.mcp.servers import McpServers

# The URI does not include punctuation at its end, which belongs to the sentence.
RESOURCE_MENTION = re.compile(r"(?<!\S)@([a-z0-9-]+):(\S*[^\s.,;:!?)\]\"'])")
PROMPT_COMMAND = re.compile(r"/([a-z0-9-]+):(\S+)(?:\s+(.*))?\s*", re.DOTALL)
MAX_RESOURCE_CHARS = 100_000  # a longer resource or prompt is cut off


@dataclass(frozen=True, slots=True)
class ExpandedMessage:
    """A user message with its mentions expanded, and the untrusted sources of the inserted text.

    `typed` is how many characters at the beginning of `text` the user wrote.
    """

    text: str
    typed: int
    untrusted_sources: tuple[str, ...] = ()


async def expand_mentions(text: str, servers: McpServers | None, boundary: str) -> ExpandedMessage:
    """Expand the mentions in a message.

    An MCP prompt replaces the text. Resources are appended, marked as data with `boundary`. Raise Problem if a server
    does not provide the mentioned resource or prompt.
    """
    enabled = {server.name for server in servers.all() if server.enabled} if servers else set()
    if servers is None or not enabled:
        return ExpandedMessage(text, len(text))
    sources: list[str] = []
    typed = len(text)
    command = PROMPT_COMMAND.fullmatch(text.strip())
    if command and command[1] in enabled:
        text = _truncated(await servers.get_prompt(command[1], command[2], _words(command[3] or "")))
        typed = 0
        sources.append(source_label(ContentSource("mcp", command[1])))
    else:
        for server, name in dict.fromkeys(mention.groups() for mention in RESOURCE_MENTION.finditer(text)):
            if server not in enabled:
                continue
            contents = _truncated(await servers.read_resource(server, name))
            text += f"\n\n{mark_as_data(contents, ContentSource('mcp', f'{server} {name}'), boundary)}"
            sources.append(source_label(ContentSource("mcp", server)))
    if not text.strip():
        raise Problem("The prompt is empty.", f"The MCP server {command[1] if command else ''} returned no text.", "")
    return ExpandedMessage(text, typed, tuple(dict.fromkeys(sources)))


def _truncated(contents: str) -> str:
    if len(contents) <= MAX_RESOURCE_CHARS:
        return contents
    return f"{contents[:MAX_RESOURCE_CHARS]}\n[Truncated after {MAX_RESOURCE_CHARS:,} characters.]"


def _words(text: str) -> Sequence[str]:
    try:
        return shlex.split(text)
    except ValueError:  # an unclosed quotation mark
        return text.split()
