"""A list of tools as the client takes it: one that is not as the protocol has it does not take the others along."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.client import Transport
    from mcp.client._transport import ReadStream, TransportStreams
    from mcp.shared.message import SessionMessage

STRICTEST = "2025-11-25"  # later versions take any schema that this one takes
SAID = "journeyman/said"  # in `_meta` of a tool: the schema that its server gave it


def lenient(transport: "Transport") -> "AbstractAsyncContextManager[TransportStreams]":
    """The way to a server, with its lists of tools mended on the way."""

    @asynccontextmanager
    async def opened() -> "AsyncIterator[TransportStreams]":
        async with transport as (read, write):
            yield _Mending(read), write

    return opened()


class _Mending:
    """What a server sends, in the shape that the client reads."""

    def __init__(self, read: "ReadStream[SessionMessage | Exception]") -> None:
        self._read = read

    def __getattr__(self, name: str) -> Any:
        return getattr(self._read, name)

    async def receive(self) -> "SessionMessage | Exception":
        return _mend(await self._read.receive())

    async def aclose(self) -> None:
        await self._read.aclose()

    def __aiter__(self) -> "_Mending":
        return self

    async def __anext__(self) -> "SessionMessage | Exception":
        return _mend(await anext(self._read))

    async def __aenter__(self) -> "_Mending":
        await self._read.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._read.__aexit__(kind, error, trace)


def _mend(item: "SessionMessage | Exception") -> "SessionMessage | Exception":
    result = None if isinstance(item, Exception) else getattr(item.message, "result", None)
    if isinstance(result, dict) and isinstance(result.get("tools"), list):
        result["tools"] = [mended(tool) for tool in result["tools"]]
    return item


def mended(tool: Any) -> dict[str, Any]:
    """It, or as much of it as can be used; a schema that cannot be is kept apart, so that it can be told."""
    if _fits(tool):
        return dict(tool)
    plain = tool if isinstance(tool, dict) else {}
    texts = {name: plain[name] for name in ("name", "description") if isinstance(plain.get(name), str)}
    schema = plain.get("inputSchema")
    bare = {"name": "", **texts, "inputSchema": {"type": "object"}}
    if isinstance(schema, dict) and _fits(whole := {**bare, "inputSchema": {"type": "object", **schema}}):
        return whole
    return {**bare, "_meta": {SAID: schema}}


def _fits(tool: Any) -> bool:
    from mcp_types.methods import validate_server_result
    from pydantic import ValidationError

    try:
        validate_server_result("tools/list", STRICTEST, {"tools": [tool]})
    except ValidationError:
        return False
    return True
