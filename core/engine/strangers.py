"""Words that the person did not write: how a model is shown them, and when they taint the run."""

import hashlib
from collections.abc import Collection
from functools import lru_cache

from core.domain.events import RunEvent, Tainted
from core.domain.provenance import Origin, Source, marked, taint_name, taints
from core.domain.redact import PATTERNS, Redactor
from core.tools.catalogue import TOOLS
from core.tools.memory import RECALL
from core.tools.server_tools import server_of
from core.tools.tool import Tool, Touches

ORIGINS: dict[Touches, Origin] = {"reads": "folder", "runs": "command", "network": "web"}
AGAIN = ("recall_dropped", "check")  # what others wrote, read once more, or its rest
GUESSED = ("password", "password in an address", "authorisation", "bearer")  # code is full of such lines
SURE = Redactor(kinds=[kind for kind in PATTERNS if kind not in GUESSED])
ALL = Redactor()


def source_of(tool: str, what: str) -> Source | None:
    """Where the result of a call came from; None where the tool itself wrote it."""
    if tool in AGAIN:
        return Source("folder", what)
    if tool == RECALL:
        return Source("memory", what)
    if server := server_of(tool):
        return Source("mcp", server)
    known = TOOLS.get(tool)
    origin = ORIGINS.get(known.touches) if known else None
    return Source(origin, what) if origin else None


@lru_cache(maxsize=256)
def boundary(session: str) -> str:
    """Of a session whose runs were begun before they named one of their own."""
    return hashlib.sha256(f"the words of others in {session}".encode()).hexdigest()[:16]


@lru_cache(maxsize=512)
def as_data(text: str, source: Source, boundary: str) -> str:
    """The words marked as data. Nobody edits what a command printed: all that looks like a key is left out of it."""
    redactor = ALL if source.origin == "command" else SURE
    return marked(redactor.text(text), source, boundary)


def tainted(
    known: Collection[str], tool: Tool, call: str, what: str, events: list[RunEvent], *, trusted: bool
) -> list[RunEvent]:
    """The facts of a call, with the one that strangers were read, where it is so and was not so before.

    Of a folder that is not `trusted` the first file says it for all.
    """
    source = source_of(tool.name, what)
    if source and source.origin in ("folder", "command"):
        source = Source(source.origin)
    if source is None or not taints(source, trusted=trusted) or taint_name(source) in known:
        return events
    if any(isinstance(event, Tainted) for event in events):
        return events
    return [Tainted(call, taint_name(source)), *events]
