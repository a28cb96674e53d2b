"""One connection to a tool server: a task of its own opens it, holds it and closes it; others call through it."""

import asyncio
from contextlib import suppress
from os import environ
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from core.domain.problems import Problem
from core.servers.answers import Answer, answer_of, words_of
from core.servers.told import accepted
from core.settings.schema import ServerTool, ToolServer

if TYPE_CHECKING:
    from mcp import Client

START_S = 30.0
CALL_S = 600.0
CLOSE_S = 15.0
PAGES = 50
LOG_SHOWN = 300


class Progress(Protocol):
    """Told how far a call is."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None: ...


class Connection:
    """To one server, from its start to its end. One that ended is not used again.

    Attributes:
        tools: what it offers, as it says now; `version` is of the protocol.
    """

    def __init__(self, server: ToolServer, log: Path) -> None:
        self.server = server
        self.tools: dict[str, ServerTool] = {}
        self.version = ""
        self._log = log
        self._client: Client | None = None
        self._done = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def open(self) -> bool:
        return self._client is not None

    async def start(self) -> None:
        """Until it can be used. Raises Problem where that cannot be."""
        ready = asyncio.Event()
        self._task = asyncio.create_task(self._hold(ready), name=f"tool server {self.server.name}")
        waiting = asyncio.create_task(ready.wait())
        try:
            await asyncio.wait({self._task, waiting}, timeout=START_S, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
            if not ready.is_set():
                self._task.cancel()
                await asyncio.wait({self._task}, timeout=CLOSE_S)
        if not ready.is_set():
            raise self._problem("did not start")

    async def call(self, tool: str, arguments: dict[str, object], progress: Progress) -> Answer:
        """What the server answers; a call that is cancelled is cancelled there too."""
        from anyio import BrokenResourceError, ClosedResourceError
        from mcp import MCPError
        from mcp_types import CONNECTION_CLOSED

        if self._client is None:
            raise self._problem("has ended")
        try:
            answer = await self._client.call_tool(
                tool, arguments, read_timeout_seconds=CALL_S, progress_callback=progress
            )
        except MCPError as error:
            if error.code == CONNECTION_CLOSED:
                await self.close()
                raise self._problem("ended in the middle of the call") from error
            return Answer(f"{self.server.name} refused the call: {error.message}", failed=True)
        except (BrokenResourceError, ClosedResourceError, OSError) as error:
            await self.close()
            raise self._problem("ended in the middle of the call") from error
        except ValueError as error:  # it answered in a form that the protocol does not know
            why = str(error).splitlines()[0]
            raise Problem(f"The answer of {self.server.name} cannot be read.", why, "Tell its makers.") from error
        return answer_of(answer)

    async def close(self) -> None:
        """End the server; it gets a moment to end by itself."""
        self._client = None
        self._done.set()
        if self._task:
            await asyncio.wait({self._task}, timeout=CLOSE_S)
            if not self._task.done():
                self._task.cancel()
                await asyncio.wait({self._task}, timeout=CLOSE_S)

    async def _hold(self, ready: asyncio.Event) -> None:
        """Open and close in this one task: the client's own tasks cannot be ended from another."""
        from mcp import Client, StdioServerParameters
        from mcp.client.stdio import stdio_client

        server = self.server
        given = {name: environ[name] for name in server.variables if name in environ}
        program = StdioServerParameters(command=server.command, args=list(server.args), env=given, cwd=Path.home())
        self._log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._log.open("w", encoding="utf-8") as log:
            self._log.chmod(0o600)
            try:
                async with Client(stdio_client(program, errlog=log)) as client:
                    self.version = client.protocol_version
                    self.tools = await _tools(client)
                    self._client = client
                    ready.set()
                    await self._done.wait()
            finally:
                self._client = None

    def _problem(self, what: str) -> Problem:
        """Why, as far as anybody said: the fault of the task, then the last that the server printed."""
        task = self._task
        error = task.exception() if task and task.done() and not task.cancelled() else None
        why = words_of(error) if error else "" if self._done.is_set() else f"It did not answer in {START_S:g} s."
        with suppress(OSError):
            printed = self._log.read_text("utf-8", "replace").strip().splitlines()
            why += f" The last it printed: {printed[-1][:LOG_SHOWN]}" if printed else ""
        name = self.server.name
        return Problem(f"The tool server {name} {what}.", why.strip(), f"What it prints stands in {self._log}.")


async def _tools(client: "Client") -> dict[str, ServerTool]:
    """All that it offers, page by page."""
    found: dict[str, ServerTool] = {}
    cursor: str | None = None
    for _ in range(PAGES):
        page = await client.list_tools(cursor=cursor)
        found |= {tool.name: accepted(tool.name, tool.description or "", tool.input_schema) for tool in page.tools}
        cursor = page.next_cursor
        if not cursor:
            break
    return found
