"""A connection to an MCP server. One dedicated task opens and closes it; other tasks make calls through it."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from core.domain.problems import Problem
from core.domain.redact import Redactor
from core.mcp.elicitation import CallElicitation, ElicitCallback
from core.mcp.error_text import SIGN_IN_FAILED, describe_error
from core.mcp.mentions import McpMentions, list_mentions, prompt_text, resource_text
from core.mcp.server_config import ResolvedMcpServer
from core.mcp.tool_definition import stored_definition, tools_by_name
from core.mcp.tool_list_repair import MAX_TOOLS, ORIGINAL_SCHEMA, repair_tool_lists
from core.mcp.tool_result import McpToolResult, parse_tool_result
from core.settings.schema import McpToolSettings
from core.workspace.program_search import own_path

if TYPE_CHECKING:
    import httpx2
    from mcp import Client, MCPError
    from mcp.client import ClientRequestContext
    from mcp_types import ElicitRequestParams, ElicitResult, ErrorData

    from core.mcp.http import McpHttpTransport

START_TIMEOUT_S = 60.0  # npx and uvx may download the server first
CALL_TIMEOUT_S = 600.0  # a tool call fails after this many seconds without a progress notification
CLOSE_TIMEOUT_S = 15.0
MAX_PAGES = 50
MAX_LISTED_CHARS = 16 << 20  # maximum size of the definitions of all tools together
MAX_ERROR_CHARS = 4_000  # of an error message of a server, which the model reads
LOG_SHOWN = 300
LOG_READ = 64 << 10
MAX_LOG_BYTES = 4 << 20  # maximum size of the log of a server
LOG_CHECK_S = 1.0
# The tool call that runs in the current context, to which elicitation requests of the server belong.
CURRENT_CALL: ContextVar[CallElicitation | None] = ContextVar("current_call", default=None)


class ProgressCallback(Protocol):
    """A callback for the progress of a tool call."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None: ...


class McpConnection:
    """A connection to one MCP server. Once closed, it cannot be reopened. `auth` adds an OAuth token to requests.

    Attributes:
        tools: its tools by name, as of the last listing.
        protocol_version: the negotiated protocol version.
    """

    def __init__(
        self, opened: ResolvedMcpServer, log: Path, auth: "httpx2.Auth | None" = None, start_timeout_s: float = 0.0
    ) -> None:
        self._auth = auth
        self._start_s = start_timeout_s or START_TIMEOUT_S
        self.server = opened.server
        self.tools: dict[str, McpToolSettings] = {}
        self.protocol_version = ""
        self._opened = opened
        self._log = log
        self._client: Client | None = None
        self._http: McpHttpTransport | None = None
        self._done = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._call_lock = asyncio.Lock()
        self._legacy_elicitation: CallElicitation | None = None

    @property
    def is_open(self) -> bool:
        return self._client is not None

    async def start(self) -> None:
        """Start the server and wait until it is initialized. Raises `Problem` if that fails."""
        ready = asyncio.Event()
        self._task = asyncio.create_task(self._run(ready), name=f"MCP server {self.server.name}")
        waiting = asyncio.create_task(ready.wait())
        try:
            await asyncio.wait({self._task, waiting}, timeout=self._start_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
            if not ready.is_set():
                self._task.cancel()
                await asyncio.wait({self._task}, timeout=CLOSE_TIMEOUT_S)
        if not ready.is_set():
            raise self.make_problem("did not start" if self.server.command else "cannot be reached")

    async def refresh_tools(self) -> Mapping[str, McpToolSettings]:
        """List the server's tools again and return them by name."""
        async with self._translate_errors(), asyncio.timeout(START_TIMEOUT_S):
            self.tools = await _list_tools(self._require_client())
        return self.tools

    async def call_tool(
        self, tool: str, arguments: dict[str, Any], progress: ProgressCallback, ask: ElicitCallback | None = None
    ) -> McpToolResult:
        """Call a tool and return its result. Canceling this coroutine cancels the call on the server too."""
        # In versions (dates) before 2026 an elicitation request does not name its call, so only one call may run.
        is_legacy = self.protocol_version < "2026"
        if is_legacy and self._call_lock.locked():
            await progress(0, None, f"waiting for another call to {self.server.name}")
        async with self._call_lock if is_legacy else nullcontext(), self._translate_errors():
            async with asyncio.timeout(CALL_TIMEOUT_S) as clock:
                elicitation = CallElicitation(self.server.name, ask, clock, CALL_TIMEOUT_S)
                token = CURRENT_CALL.set(elicitation)
                self._legacy_elicitation = elicitation if is_legacy else None
                try:
                    return await self._call_tool(tool, arguments, progress, elicitation)
                finally:
                    CURRENT_CALL.reset(token)
                    elicitation.cancel_questions()

    async def _call_tool(
        self, tool: str, arguments: dict[str, Any], progress_callback: ProgressCallback, elicitation: CallElicitation
    ) -> McpToolResult:
        """Call the tool. If the server requires the user to open a web page first, ask for that and call it again."""
        from mcp import MCPError, UrlElicitationRequiredError
        from mcp_types import URL_ELICITATION_REQUIRED

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            elicitation.restart_timeout()
            await progress_callback(progress, total, message)

        for is_repeat in (False, True):
            try:
                return parse_tool_result(
                    await self._require_client().call_tool(tool, arguments, progress_callback=on_progress)
                )
            except MCPError as error:
                if self._has_failed(error):
                    raise
                if error.code == URL_ELICITATION_REQUIRED and not is_repeat:
                    pages = UrlElicitationRequiredError.from_error(error.error).elicitations
                    if await elicitation.open_required_pages(pages):
                        continue
                message = self._redact_error(error.message)
                return McpToolResult(f"{self.server.name} rejected the call: {message}", failed=True)
        raise AssertionError("the second try returned or raised")

    async def list_mentions(self) -> McpMentions:
        """List the resources and prompts of the server."""
        async with self._translate_errors(), asyncio.timeout(START_TIMEOUT_S):
            return await list_mentions(self.server.name, self._require_client())

    async def read_resource(self, uri: str) -> str:
        async with self._translate_errors(), asyncio.timeout(START_TIMEOUT_S):
            return resource_text(await self._require_client().read_resource(uri))

    async def get_prompt(self, name: str, arguments: dict[str, str]) -> str:
        async with self._translate_errors(), asyncio.timeout(START_TIMEOUT_S):
            return prompt_text(await self._require_client().get_prompt(name, arguments))

    async def close(self) -> None:
        """Close the connection and end the server, waiting up to CLOSE_TIMEOUT_S seconds before canceling its task."""
        self._client = None
        self._done.set()
        if self._task:
            await asyncio.wait({self._task}, timeout=CLOSE_TIMEOUT_S)
            if not self._task.done():
                self._task.cancel()
                await asyncio.wait({self._task}, timeout=CLOSE_TIMEOUT_S)

    def add_done_callback(self, callback: Callable[[], None]) -> None:
        """Register a callback for the end of the connection, whatever the reason."""
        if self._task:
            self._task.add_done_callback(lambda _: callback())

    def _require_client(self) -> "Client":
        if self._client is None:
            raise self.make_problem("has ended")
        return self._client

    @asynccontextmanager
    async def _translate_errors(self) -> AsyncIterator[None]:
        """Convert protocol and transport errors within `async with` to `Problem`. Close a broken connection."""
        from anyio import BrokenResourceError, ClosedResourceError
        from mcp import MCPError

        try:
            yield
        except MCPError as error:
            if not self._has_failed(error):
                raise Problem(
                    f"{self.server.name} rejected it.", f"{self._redact_error(error.message)}.", ""
                ) from error
            await self.close()
            raise self.make_problem("ended during the call", error) from error
        except TimeoutError as error:
            message = f"The MCP server {self.server.name} is not responding."
            raise Problem(message, "It did not respond in time.", "Try again.") from error
        except (BrokenResourceError, ClosedResourceError, OSError) as error:
            await self.close()
            raise self.make_problem("ended during the call", error) from error
        except (ValueError, RuntimeError) as error:  # The response is invalid, or asks for elicitation endlessly.
            cause = self._redact_error(describe_error(error))
            message = f"The response of {self.server.name} cannot be read."
            raise Problem(message, cause, "Report this to its developer.") from error

    def _has_failed(self, error: "MCPError") -> bool:
        """Return whether an error means that the connection is lost, and not that the server rejected a request.

        Servers also use the code of the library for a closed connection, -32000, for errors of their own.
        """
        from mcp_types import CONNECTION_CLOSED

        is_closed = error.code == CONNECTION_CLOSED and error.message == "Connection closed"
        return is_closed or bool(self._http and self._http.last_error_status)

    async def _elicit(
        self, context: "ClientRequestContext", params: "ElicitRequestParams"
    ) -> "ElicitResult | ErrorData":
        from mcp_types import ElicitResult

        elicitation = CURRENT_CALL.get() or self._legacy_elicitation
        return await elicitation.elicit(params) if elicitation else ElicitResult(action="cancel")

    async def _run(self, ready: asyncio.Event) -> None:
        """Open and close the connection in one task, as the MCP client's task groups require."""
        from mcp import Client

        logging.getLogger("mcp").setLevel(logging.CRITICAL)  # All errors are raised as `Problem`.
        try:
            async with (
                self._transport() as transport,
                Client(
                    repair_tool_lists(transport),
                    elicitation_callback=self._elicit,
                    message_handler=self._log_invalid_line,
                ) as client,
            ):
                self.protocol_version = client.protocol_version
                self.tools = await _list_tools(client)
                self._client = client
                ready.set()
                await self._done.wait()
        finally:
            self._client = None

    @asynccontextmanager
    async def _transport(self) -> AsyncIterator[Any]:
        """Create the transport: standard input and output of a program, or Streamable HTTP."""
        server, values = self.server, dict(self._opened.values)
        if server.url:
            from mcp.client.streamable_http import streamable_http_client

            from core.mcp.http import MAX_EVENT_BYTES, McpHttpTransport, http_client

            self._http = McpHttpTransport(self._opened)
            async with http_client(self._opened, self._http, self._auth) as client:
                yield streamable_http_client(server.url, http_client=client, max_sse_event_size=MAX_EVENT_BYTES)
            return
        from mcp import StdioServerParameters

        from core.mcp.line_limit import limited_stdio_client

        program = StdioServerParameters(
            command=server.command,
            args=list(server.args),
            env={"PATH": own_path()} | values,
            cwd=Path.home(),
            encoding_error_handler="replace",
        )
        self._log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._log.write_bytes(b"")
        self._log.chmod(0o600)
        limiter = asyncio.create_task(_limit_log(self._log), name=f"log of {server.name}")
        try:
            with self._log.open("a", encoding="utf-8") as log:
                yield limited_stdio_client(program, errlog=log)
        finally:
            limiter.cancel()
            await asyncio.wait({limiter})
            _truncate_log(self._log)

    async def _log_invalid_line(self, message: object) -> None:
        """Write a line of output that is not a protocol message to the log."""
        from pydantic import ValidationError

        if self.server.command and isinstance(message, ValidationError):
            line = str(message.errors(include_url=False)[0]["input"])
            with suppress(OSError), self._log.open("a", encoding="utf-8", errors="replace") as log:
                log.write(f"{line[:LOG_SHOWN]}\n")

    def make_problem(self, event: str, error: BaseException | None = None) -> Problem:
        """Build an error that says "The MCP server … `event`.", with the cause and the last line of the log.

        The cause is the exception that ended the connection's task, or else `error` (remote servers only).
        """
        task, name = self._task, self.server.name
        cause = task.exception() if task and task.done() and not task.cancelled() else None
        status = self._http.last_error_status if self._http else 0
        cause = cause or (error if self.server.url else None)
        timeout_note = "" if self._done.is_set() else f"It did not respond within {START_TIMEOUT_S:g} s."
        details = self._redact_error(describe_error(cause, status) if cause else timeout_note)
        if self.server.url:
            fix = "Check its URL and key in the settings, page MCP servers."
            if status == 401 or SIGN_IN_FAILED in details:
                fix = f"Sign in (settings, page MCP servers, or `journeyman mcp login {name}`), or set its key."
            return Problem(f"The MCP server {name} {event}.", details, fix)
        with suppress(OSError):
            log_lines = self._redact(self._log.read_text("utf-8", "replace")[-LOG_READ:]).strip().splitlines()
            details += f" Last output: {log_lines[-1][:LOG_SHOWN]}" if log_lines else ""
        return Problem(f"The MCP server {name} {event}.", details.strip(), f"See its log: {self._log}.")

    def _redact_error(self, message: str) -> str:
        """Redact and truncate an error message."""
        text = self._redact(message[: 2 * MAX_ERROR_CHARS])
        return text if len(text) <= MAX_ERROR_CHARS else f"{text[:MAX_ERROR_CHARS]}…"

    def _redact(self, text: str) -> str:
        """Redact the values of the server's variables or headers in a text, also without a prefix such as `Bearer`."""
        values = self._opened.values.values()
        return Redactor([*values, *(value.rpartition(" ")[2] for value in values)]).redact(text)


async def _limit_log(log: Path) -> None:
    """Keep the log of a running server below its size limit."""
    while True:
        await asyncio.sleep(LOG_CHECK_S)
        _truncate_log(log)


def _truncate_log(log: Path) -> None:
    with suppress(OSError), log.open("a+b") as file:
        if file.tell() > MAX_LOG_BYTES:
            file.seek(-MAX_LOG_BYTES // 16, os.SEEK_END)
            last = file.read()
            file.truncate(0)
            file.write(last)


async def _list_tools(client: "Client") -> dict[str, McpToolSettings]:
    """List all tools, page by page. Raise ValueError if there are too many."""
    definitions: list[McpToolSettings] = []
    cursor: str | None = None
    size = 0
    for _ in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor, cache_mode="refresh")
        if len(definitions) + len(page.tools) > MAX_TOOLS:
            raise ValueError(f"It lists more than {MAX_TOOLS:,} tools")
        for tool in page.tools:
            schema = (tool.meta or {}).get(ORIGINAL_SCHEMA, tool.input_schema)
            definitions.append(stored_definition(tool.name, tool.description or "", schema))
            size += len(definitions[-1].description) + len(definitions[-1].input_schema)
        if size > MAX_LISTED_CHARS:
            raise ValueError(f"The definitions of its tools are larger than {MAX_LISTED_CHARS >> 20} MiB")
        cursor = page.next_cursor
        if not cursor:
            break
    return tools_by_name(definitions)
