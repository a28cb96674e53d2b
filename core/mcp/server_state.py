"""The state of MCP servers, as reported to listeners such as the window."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from core.domain.problems import ErrorDetails

McpServerHealth = Literal["ready", "starting", "open", "failed"]


@dataclass(frozen=True, slots=True)
class McpServerState:
    """The state of one server; `ready` means it has not been started, because no run needed it yet."""

    name: str
    health: McpServerHealth = "ready"
    error: ErrorDetails | None = None


@dataclass(frozen=True, slots=True)
class McpServerStates:
    """The states of all enabled servers."""

    servers: tuple[McpServerState, ...] = ()


McpStateListener = Callable[[McpServerStates], None]
