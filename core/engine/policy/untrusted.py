"""Untrusted content: determines the source of a result, marks the result for the model, and records the source."""

import hashlib
from collections.abc import Collection
from functools import lru_cache

from core.domain.events import SessionEvent, UntrustedContentRead
from core.domain.permissions import Access
from core.domain.provenance import ContentSource, Origin, is_untrusted, mark_as_data, source_label
from core.domain.redact import Redactor
from core.tools.catalogue import TOOLS
from core.tools.check import CHECK
from core.tools.mcp_tools import mcp_server_of
from core.tools.memory_tools import RECALL
from core.tools.recall_dropped import RECALL_DROPPED
from core.tools.tool import Tool

ACCESS_ORIGINS: dict[Access, Origin] = {"read": "folder", "execute": "command", "network": "web"}
CERTAIN_REDACTOR = Redactor(uncertain=False)
FULL_REDACTOR = Redactor()


def result_source(tool: str, target: str) -> ContentSource | None:
    """Return where the content of a call's result comes from; None if it only contains messages of the tool.

    `target` is what the call accesses: a path, a command or a URL.
    """
    if tool == CHECK.name:
        return ContentSource("command", target)
    if tool == RECALL_DROPPED:  # it returns earlier, possibly untrusted results again
        return ContentSource("folder", target)
    if tool == RECALL:
        return ContentSource("memory", target)
    if server := mcp_server_of(tool):
        return ContentSource("mcp", server)
    definition = TOOLS.get(tool)
    origin = ACCESS_ORIGINS.get(definition.access) if definition else None
    return ContentSource(origin, target) if origin else None


@lru_cache(maxsize=256)
def fallback_boundary(session: str) -> str:
    """Return the token in the tags around untrusted content for old runs, which did not store a random token."""
    # The recorded prompts of the old runs contain this hash, so the hashed text must not change.
    return hashlib.sha256(f"the words of others in {session}".encode()).hexdigest()[:16]


@lru_cache(maxsize=512)
def mark_and_redact(text: str, source: ContentSource, boundary: str) -> str:
    """Mark text as data for the model and redact secrets in it.

    In command output everything that resembles a secret is redacted. File contents are redacted only where the pattern
    is unambiguous, because the model may have to edit the file.
    """
    redactor = FULL_REDACTOR if source.origin == "command" else CERTAIN_REDACTOR
    return mark_as_data(redactor.redact(text), source, boundary)


def with_untrusted_event(
    recorded: Collection[str], tool: Tool, call: str, target: str, events: list[SessionEvent], *, trusted: bool
) -> list[SessionEvent]:
    """Return the events of a tool call, preceded by UntrustedContentRead if it read a source that is not in `recorded`.

    In a folder that is not `trusted`, all files count as one source, and so does the output of all commands.
    """
    source = result_source(tool.name, target)
    if source and source.origin in ("folder", "command"):
        source = ContentSource(source.origin)
    if source is None or not is_untrusted(source, trusted=trusted) or source_label(source) in recorded:
        return events
    if any(isinstance(event, UntrustedContentRead) for event in events):
        return events
    return [UntrustedContentRead(call, source_label(source)), *events]
