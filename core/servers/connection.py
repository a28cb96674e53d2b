"""One connection to a tool server: a task of its own opens it, holds it and closes it; others call through it."""

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
from core.servers.answers import Answer, answer_of
from core.servers.asking import Ask, Asking
from core.servers.extras import Extras, extras_of, prompt_words, resource_words
from core.servers.faults import words_of
from core.servers.lenient import SAID, lenient
from core.servers.opening import Opening
from core.servers.told import accepted, by_name
from core.settings.schema import ServerTool

if TYPE_CHECKING:
    from mcp import Client
    from mcp.client import ClientRequestContext
    from mcp_types import ElicitRequestParams, ElicitResult, ErrorData

    from core.servers.http import Http

START_S = 60.0  # one that is fetched when it is started takes its time
CALL_S = 600.0  # without a sign of life
CLOSE_S = 15.0
PAGES = 50
LOG_SHOWN = 300
LOG_READ = 64 << 10
PRINTED = 4 << 20  # bytes kept of what it prints
LOOK_S = 1.0
ASKING: ContextVar[Asking | None] = ContextVar("asking", default=None)  # the call that a question belongs to


class Progress(Protocol):
    """Told how far a call is."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None: ...


class Connection:
    """To one server, from its start to its end. One that ended is not used again.

    Attributes:
        tools: what it offers, as it said last; `version` is of the protocol.
    """

    def __init__(self, opened: Opening, log: Path) -> None:
        self.server = opened.server
        self.tools: dict[str, ServerTool] = {}
        self.version = ""
        self._opened = opened
        self._log = log
        self._client: Client | None = None
        self._http: Http | None = None
        self._done = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._one = asyncio.Lock()
        self._asking: Asking | None = None

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
            raise self.problem("did not start" if self.server.command else "cannot be reached")

    async def look(self) -> Mapping[str, ServerTool]:
        """What it says of its tools now."""
        async with self._faults(), asyncio.timeout(START_S):
            self.tools = await _tools(self._held())
        return self.tools

    async def call(self, tool: str, arguments: dict[str, Any], progress: Progress, ask: Ask | None = None) -> Answer:
        """What the server answers; a call that is cancelled is cancelled there too."""
        old = self.version < "2026"  # its questions do not say which call they belong to: then there is one at a time
        if old and self._one.locked():
            await progress(0, None, f"waits for another call of {self.server.name}")
        async with self._one if old else nullcontext(), self._faults():
            async with asyncio.timeout(CALL_S) as clock:
                asking = Asking(self.server.name, ask, clock, CALL_S)
                token = ASKING.set(asking)
                self._asking = asking if old else None
                try:
                    return await self._called(tool, arguments, progress, asking)
                finally:
                    ASKING.reset(token)
                    asking.end()

    async def _called(self, tool: str, arguments: dict[str, Any], tell: Progress, asking: Asking) -> Answer:
        """Once more where the server wants a page looked at first, and the person did."""
        from mcp import MCPError, UrlElicitationRequiredError
        from mcp_types import CONNECTION_CLOSED, URL_ELICITATION_REQUIRED

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            asking.alive()
            await tell(progress, total, message)

        for again in (False, True):
            try:
                return answer_of(await self._held().call_tool(tool, arguments, progress_callback=hear))
            except MCPError as error:
                refused = self._http.refused if self._http else 0
                if error.code == CONNECTION_CLOSED or refused:
                    raise
                if error.code == URL_ELICITATION_REQUIRED and not again:
                    wanted = UrlElicitationRequiredError.from_error(error.error).elicitations
                    if await asking.pages([(each.message, each.url) for each in wanted]):
                        continue
                return Answer(f"{self.server.name} refused the call: {self._clean(error.message)}", failed=True)
        raise AssertionError("the second try returned or raised")

    async def extras(self) -> Extras:
        """What it offers a person besides tools."""
        async with self._faults(), asyncio.timeout(START_S):
            return await extras_of(self.server.name, self._held())

    async def resource(self, uri: str) -> str:
        """The words of one."""
        async with self._faults(), asyncio.timeout(START_S):
            return resource_words(await self._held().read_resource(uri))

    async def prompt(self, name: str, arguments: dict[str, str]) -> str:
        """The words of one."""
        async with self._faults(), asyncio.timeout(START_S):
            return prompt_words(await self._held().get_prompt(name, arguments))

    async def close(self) -> None:
        """End the server; it gets a moment to end by itself."""
        self._client = None
        self._done.set()
        if self._task:
            await asyncio.wait({self._task}, timeout=CLOSE_S)
            if not self._task.done():
                self._task.cancel()
                await asyncio.wait({self._task}, timeout=CLOSE_S)

    def when_ended(self, tell: Callable[[], None]) -> None:
        """Call once it is no more, however that came."""
        if self._task:
            self._task.add_done_callback(lambda _: tell())

    def _held(self) -> "Client":
        if self._client is None:
            raise self.problem("has ended")
        return self._client

    @asynccontextmanager
    async def _faults(self) -> AsyncIterator[None]:
        """What goes wrong on the way, in words."""
        from anyio import BrokenResourceError, ClosedResourceError
        from mcp import MCPError
        from mcp_types import CONNECTION_CLOSED

        try:
            yield
        except MCPError as error:
            if error.code != CONNECTION_CLOSED and not (self._http and self._http.refused):
                raise Problem(f"{self.server.name} refuses that.", f"{self._clean(error.message)}.", "") from error
            await self.close()
            raise self.problem("ended in the middle of the call", error) from error
        except TimeoutError as error:
            what = f"The tool server {self.server.name} does not answer."
            raise Problem(what, "Nothing came from it in time.", "Try again.") from error
        except (BrokenResourceError, ClosedResourceError, OSError) as error:
            await self.close()
            raise self.problem("ended in the middle of the call", error) from error
        except (ValueError, RuntimeError) as error:  # in a form that the protocol does not know, or asking for ever
            why = self._clean(words_of(error))
            raise Problem(f"The answer of {self.server.name} cannot be read.", why, "Tell its makers.") from error

    async def _elicit(
        self, context: "ClientRequestContext", params: "ElicitRequestParams"
    ) -> "ElicitResult | ErrorData":
        from mcp_types import ElicitResult

        asking = ASKING.get() or self._asking
        return await asking.elicit(params) if asking else ElicitResult(action="cancel")

    async def _hold(self, ready: asyncio.Event) -> None:
        """Open and close in this one task: the client's own tasks cannot be ended from another."""
        from mcp import Client

        logging.getLogger("mcp").setLevel(logging.CRITICAL)  # what went wrong is said in our words
        try:
            async with (
                self._way() as transport,
                Client(lenient(transport), elicitation_callback=self._elicit, message_handler=self._hear) as client,
            ):
                self.version = client.protocol_version
                self.tools = await _tools(client)
                self._client = client
                ready.set()
                await self._done.wait()
        finally:
            self._client = None

    @asynccontextmanager
    async def _way(self) -> AsyncIterator[Any]:
        """What carries the words of both: a program's input and output, or requests to an address."""
        server, given = self.server, dict(self._opened.given)
        if server.url:
            from mcp.client.streamable_http import streamable_http_client

            from core.servers.http import LARGEST_EVENT, Http, http_client

            self._http = Http(self._opened)
            async with http_client(self._opened, self._http) as client:
                yield streamable_http_client(server.url, http_client=client, max_sse_event_size=LARGEST_EVENT)
            return
        from mcp import StdioServerParameters
        from mcp.client.stdio import stdio_client

        program = StdioServerParameters(
            command=server.command, args=list(server.args), env=given, cwd=Path.home(), encoding_error_handler="replace"
        )
        self._log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._log.write_bytes(b"")
        self._log.chmod(0o600)
        bound = asyncio.create_task(_bound(self._log), name=f"log of {server.name}")
        try:
            with self._log.open("a", encoding="utf-8") as log:
                yield stdio_client(program, errlog=log)
        finally:
            bound.cancel()
            await asyncio.wait({bound})
            _shorten(self._log)

    async def _hear(self, message: object) -> None:
        """A line that is not of the protocol is kept with what the server prints."""
        from pydantic import ValidationError

        if self.server.command and isinstance(message, ValidationError):
            line = str(message.errors(include_url=False)[0]["input"])
            with suppress(OSError), self._log.open("a", encoding="utf-8", errors="replace") as log:
                log.write(f"{line[:LOG_SHOWN]}\n")

    def problem(self, what: str, met: BaseException | None = None) -> Problem:
        """Why, as far as anybody said: the fault of the task, then the last that the server printed."""
        task, name = self._task, self.server.name
        error = task.exception() if task and task.done() and not task.cancelled() else None
        refused = self._http.refused if self._http else 0
        error = error or (met if self.server.url else None)
        late = "" if self._done.is_set() else f"It did not answer in {START_S:g} s."
        why = self._clean(words_of(error, refused) if error else late)
        if self.server.url:
            do = "Look at its address and its key in the settings, page Tool servers."
            return Problem(f"The tool server {name} {what}.", why, do)
        with suppress(OSError):
            printed = self._clean(self._log.read_text("utf-8", "replace")[-LOG_READ:]).strip().splitlines()
            why += f" The last it printed: {printed[-1][:LOG_SHOWN]}" if printed else ""
        return Problem(f"The tool server {name} {what}.", why.strip(), f"What it prints stands in {self._log}.")

    def _clean(self, text: str) -> str:
        """Words of the server without secrets: what it was given, also without the `Bearer` before it, and the like."""
        given = self._opened.given.values()
        return Redactor([*given, *(value.rpartition(" ")[2] for value in given)]).text(text)


async def _bound(log: Path) -> None:
    """A server may print without end; only the last of it is kept then."""
    while True:
        await asyncio.sleep(LOOK_S)
        _shorten(log)


def _shorten(log: Path) -> None:
    with suppress(OSError), log.open("a+b") as file:
        if file.tell() > PRINTED:
            file.seek(-PRINTED // 16, os.SEEK_END)
            last = file.read()
            file.truncate(0)
            file.write(last)


async def _tools(client: "Client") -> dict[str, ServerTool]:
    """All that it offers, page by page."""
    found: list[ServerTool] = []
    cursor: str | None = None
    for _ in range(PAGES):
        page = await client.list_tools(cursor=cursor, cache_mode="refresh")
        for tool in page.tools:
            schema = (tool.meta or {}).get(SAID, tool.input_schema)
            found.append(accepted(tool.name, tool.description or "", schema))
        cursor = page.next_cursor
        if not cursor:
            break
    return by_name(found)
