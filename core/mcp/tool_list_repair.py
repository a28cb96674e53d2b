"""Repair of tool lists, so that one invalid tool does not make the MCP client reject the whole list.

Of a list that is too long, only so many tools are kept that it is still too long, because checking each takes time.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.client import Transport
    from mcp.client._transport import ReadStream, TransportStreams
    from mcp.shared.message import SessionMessage

MAX_TOOLS = 1_000  # of one server
STRICTEST = "2025-11-25"  # MCP version to validate against; later versions accept all that it accepts
ORIGINAL_SCHEMA = "journeyman/original-schema"  # key in `_meta` of a repaired tool: its schema as the server sent it


def repair_tool_lists(transport: "Transport") -> "AbstractAsyncContextManager[TransportStreams]":
    """Wrap a transport so that tool lists are repaired as they are received."""

    @asynccontextmanager
    async def opened() -> "AsyncIterator[TransportStreams]":
        async with transport as (read, write):
            yield _RepairingStream(read), write

    return opened()


class _RepairingStream:
    """A message stream that repairs tool lists."""

    def __init__(self, read: "ReadStream[SessionMessage | Exception]") -> None:
        self._read = read

    def __getattr__(self, name: str) -> Any:
        return getattr(self._read, name)

    async def receive(self) -> "SessionMessage | Exception":
        return _repair_message(await self._read.receive())

    async def aclose(self) -> None:
        await self._read.aclose()

    def __aiter__(self) -> "_RepairingStream":
        return self

    async def __anext__(self) -> "SessionMessage | Exception":
        return _repair_message(await anext(self._read))

    async def __aenter__(self) -> "_RepairingStream":
        await self._read.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._read.__aexit__(kind, error, trace)


def _repair_message(item: "SessionMessage | Exception") -> "SessionMessage | Exception":
    result = None if isinstance(item, Exception) else getattr(item.message, "result", None)
    if isinstance(result, dict) and isinstance(result.get("tools"), list):
        result["tools"] = [repair_tool(tool) for tool in result["tools"][: MAX_TOOLS + 1]]
    return item


def repair_tool(tool: Any) -> dict[str, Any]:
    """Return a valid tool definition. An invalid schema is moved to `_meta`, so that it can still be reported."""
    if _is_valid_tool(tool):
        return dict(tool)
    plain = tool if isinstance(tool, dict) else {}
    texts = {name: plain[name] for name in ("name", "description") if isinstance(plain.get(name), str)}
    schema = plain.get("inputSchema")
    definition = {"name": "", **texts, "inputSchema": {"type": "object"}}
    if isinstance(schema, dict):
        with_type = {**definition, "inputSchema": {"type": "object", **schema}}
        if _is_valid_tool(with_type):
            return with_type
    return {**definition, "_meta": {ORIGINAL_SCHEMA: schema}}


def _is_valid_tool(tool: Any) -> bool:
    from mcp_types.methods import validate_server_result
    from pydantic import ValidationError

    try:
        validate_server_result("tools/list", STRICTEST, {"tools": [tool]})
    except ValidationError:
        return False
    return True
