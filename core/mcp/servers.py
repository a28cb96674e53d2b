"""The connections to the user's MCP servers: started on first use, and restarted with backoff if they fail."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from core.domain.problems import Problem
from core.domain.question import Question, QuestionOption
from core.mcp.connection import START_TIMEOUT_S, McpConnection, ProgressCallback
from core.mcp.elicitation import ElicitCallback
from core.mcp.mentions import McpMentions
from core.mcp.server_config import ResolvedMcpServer, resolve_server
from core.mcp.server_state import McpServerState, McpServerStates, McpStateListener
from core.mcp.tool_definition import diff_tools, tool_rejection
from core.mcp.tool_result import McpToolResult
from core.settings.api_keys import ApiKeys
from core.settings.schema import McpServerSettings, McpToolSettings
from core.settings.settings_file import SettingsFile

if TYPE_CHECKING:
    import httpx2

LOG_FOLDER = "servers"  # folder of the server logs in the data folder
RESTART_DELAY_S, MAX_RESTART_DELAY_S = 1.0, 60.0
ACCEPT, REJECT = "Accept and call", "Do not call"


@dataclass(slots=True)
class _FailedServer:
    """A failed server: the number of failures in a row, when it may be started again, and the last error."""

    times: int
    until: float
    problem: Problem


class McpServers:
    """The connections to the MCP servers in the settings, shared by all runs.

    `is_trusted_package` returns whether the files of a package are unchanged since the user trusted them.
    """

    def __init__(
        self,
        settings: SettingsFile,
        data: Path,
        secrets: ApiKeys,
        environment: Mapping[str, str],
        clock: Callable[[], float] = monotonic,
        is_trusted_package: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._settings = settings
        self._is_trusted_package = is_trusted_package
        self._logs = data / LOG_FOLDER
        self._secrets = secrets
        self._environment = environment
        self._clock = clock
        self._open: dict[str, McpConnection] = {}
        self._since: dict[str, float] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._failed: dict[str, _FailedServer] = {}
        self._listeners: list[McpStateListener] = []
        self._last_states = McpServerStates()

    def all(self) -> tuple[McpServerSettings, ...]:
        """Return all configured servers."""
        return self._settings.current.mcp_servers

    def find(self, name: str) -> McpServerSettings:
        """Return a server's configuration. Raises `Problem` if there is none with this name."""
        server = next((server for server in self.all() if server.name == name), None)
        if server is None:
            raise Problem(f"There is no MCP server {name!r}.", "", "To list them: journeyman mcp list.")
        return server

    def save(self, server: McpServerSettings) -> None:
        """Save a server's configuration, replacing one with the same name."""
        servers = [server if existing.name == server.name else existing for existing in self.all()]
        if server not in servers:
            servers.append(server)
        self._settings.change(mcp_servers=tuple(servers))
        self._notify()

    def states(self) -> McpServerStates:
        """Return the states of the enabled servers."""
        return McpServerStates(tuple(self._state(server.name) for server in self.all() if server.enabled))

    def subscribe(self, listener: McpStateListener) -> None:
        """Register a listener and call it with the present states, and again after every change."""
        self._listeners.append(listener)
        listener(self.states())

    def log_path(self, name: str) -> Path:
        """Return the path of a server's log, which starts over with each start of the server."""
        return self._logs / f"{name}.log"

    async def call_tool(
        self,
        name: str,
        tool: str,
        arguments: dict[str, Any],
        progress: ProgressCallback,
        ask: ElicitCallback | None = None,
    ) -> McpToolResult:
        """Call a tool. If its definition is not the one that the user accepted, ask the user first."""
        server = self.find(name)
        accepted = next((entry for entry in server.tools if entry.name == tool), None)
        if accepted is None or not (server.enabled and accepted.enabled):
            raise Problem(f"The tool {tool} of {name} is disabled.", "", "Use another tool.")
        connection = await self._connected(server)
        current = (await connection.refresh_tools()).get(tool)
        if diff := diff_tools(accepted, current):
            await self._require_acceptance(name, tool, current, diff, ask)
        return await connection.call_tool(tool, arguments, progress, ask)

    async def list_mentions(self) -> McpMentions:
        """List the resources and prompts of all enabled servers, starting them. Servers that fail are left out."""

        async def mentions_of(server: McpServerSettings) -> McpMentions:
            with suppress(Problem):  # The error is in the server's state, which listeners receive.
                return await (await self._connected(server)).list_mentions()
            return McpMentions()

        results = await asyncio.gather(*(mentions_of(server) for server in self.all() if server.enabled))
        resources = chain.from_iterable(mentions.resources for mentions in results)
        prompts = chain.from_iterable(mentions.prompts for mentions in results)
        return McpMentions(tuple(resources), tuple(prompts))

    async def read_resource(self, name: str, uri: str) -> str:
        return await (await self._connected(self.find(name))).read_resource(uri)

    async def get_prompt(self, name: str, prompt: str, arguments: Sequence[str]) -> str:
        """Return a prompt's text. `arguments` are words in order; the last parameter takes all remaining words."""
        connection = await self._connected(self.find(name))
        mention = next((entry for entry in (await connection.list_mentions()).prompts if entry.name == prompt), None)
        if mention is None:
            raise Problem(f"{name} has no prompt {prompt!r}.", "", "Type / to list its prompts.")
        parameters = mention.arguments
        values = [*arguments[: len(parameters) - 1], " ".join(arguments[len(parameters) - 1 :])] if parameters else []
        return await connection.get_prompt(
            prompt, {parameter: value for parameter, value in zip(parameters, values, strict=False) if value}
        )

    async def connect_separately(self, server: McpServerSettings) -> McpConnection:
        """Start a separate instance of a server, to inspect its tools. The caller must close the connection."""
        opened = await self._resolve(server)
        connection = McpConnection(opened, self._logs / f"{server.name}.test.log", await self._stored_auth(opened))
        await connection.start()
        return connection

    async def sign_in(self, server: McpServerSettings, open_page: Callable[[str], None]) -> None:
        """Connect to a remote server while the user signs in, and keep the sign-in. Raise Problem if that fails."""
        from core.mcp.oauth import browser_sign_in
        from core.mcp.redirect_listener import SIGN_IN_TIMEOUT_S

        opened = await self._resolve(server)
        async with browser_sign_in(opened.server, self._secrets, open_page) as auth:
            log = self._logs / f"{server.name}.test.log"
            connection = McpConnection(opened, log, auth, SIGN_IN_TIMEOUT_S + START_TIMEOUT_S)
            await connection.start()
            await connection.close()

    async def _stored_auth(self, opened: ResolvedMcpServer) -> "httpx2.Auth | None":
        """Return the HTTP authentication with the stored sign-in; None for a server without OAuth."""
        if not (opened.server.url and opened.server.oauth):
            return None
        from core.mcp.oauth import SignInAuth
        from core.mcp.sign_in_store import StoredSignIn, sign_in_owner

        stored = StoredSignIn(self._secrets, sign_in_owner(opened.server))
        await stored.load()
        return SignInAuth(opened.server, stored)

    async def disconnect(self, name: str) -> None:
        """Close the connection to a server that was changed or removed."""
        self._failed.pop(name, None)
        async with self._locks[name]:
            if connection := self._open.pop(name, None):
                await connection.close()
        self._notify()

    async def close(self) -> None:
        await asyncio.gather(*(self.disconnect(name) for name in tuple(self._open)))

    async def _require_acceptance(
        self, name: str, tool: str, current: McpToolSettings | None, diff: str, ask: ElicitCallback | None
    ) -> None:
        """Ask the user to accept a changed tool definition and save it. Raises `Problem` if the user does not.

        A definition that could not be offered to agents is not shown: it may be of any size.
        """
        if current and (rejection := tool_rejection(current)):
            message = f"{name} changed the definition of its tool {tool} since it was accepted, so it was not called."
            raise Problem(message, f"The new definition is not valid: {rejection}.", "Use another tool.")
        answer = await ask(_tool_changed_question(name, tool, diff)) if ask and current else None
        if current is None or answer is None or answer.option != ACCEPT:
            message = f"{name} changed the definition of its tool {tool} since it was accepted, so it was not called."
            fix = f"Use another tool. The user can review and accept the change: journeyman mcp accept {name}."
            raise Problem(message, diff, fix)
        server = self.find(name)
        self.save(
            replace(
                server, tools=tuple(replace(current, enabled=t.enabled) if t.name == tool else t for t in server.tools)
            )
        )

    async def _connected(self, server: McpServerSettings) -> McpConnection:
        name = server.name
        try:
            async with self._locks[name]:
                connected = self._open.get(name)
                if connected and connected.is_open:
                    return connected
                self._check_restart_delay(name)
                self._notify()
                opened = await self._resolve(server)
                connection = McpConnection(opened, self.log_path(name), await self._stored_auth(opened))
                await connection.start()
                self._open[name], self._since[name] = connection, self._clock()
                connection.add_done_callback(lambda: self._on_ended(name, connection))
                return connection
        except Problem as problem:
            if name not in self._failed or self._failed[name].until <= self._clock():
                self._record_failure(name, problem, RESTART_DELAY_S)
            raise
        finally:
            self._notify()

    async def _resolve(self, server: McpServerSettings) -> ResolvedMcpServer:
        if server.package and not await asyncio.to_thread(self._is_trusted_package, server.package):
            raise Problem(
                f"The MCP server {server.name} was not started.",
                f"Its package {server.package} is not as you trusted it.",
                f"Review the package: journeyman packages show {server.package}",
            )
        return await resolve_server(server, self._secrets, self._environment, self._settings.current.proxy)

    def _check_restart_delay(self, name: str) -> None:
        """Raise `Problem` if a failed server may not be started again yet; the delay doubles with each failure."""
        failed = self._failed.get(name)
        if failed and (remaining := failed.until - self._clock()) > 0:
            details = failed.problem.details
            raise Problem(details.message, details.cause, f"It can be started again in {max(remaining, 1):.0f} s.")

    def _on_ended(self, name: str, connection: McpConnection) -> None:
        """Record that a server ended by itself. After a long uptime it may be restarted at once."""
        if self._open.get(name) is not connection:
            return  # Journeyman has closed the connection itself.
        del self._open[name]
        if self._clock() - self._since[name] >= MAX_RESTART_DELAY_S:
            self._failed.pop(name, None)
        self._record_failure(name, connection.make_problem("has ended"), 0.0)

    def _record_failure(self, name: str, problem: Problem, first_delay: float) -> None:
        times = self._failed[name].times + 1 if name in self._failed else 0
        delay_s = min(RESTART_DELAY_S * 2**times, MAX_RESTART_DELAY_S) if times else first_delay
        self._failed[name] = _FailedServer(times, self._clock() + delay_s, problem)
        self._notify()

    def _state(self, name: str) -> McpServerState:
        connection = self._open.get(name)
        if connection and connection.is_open:
            return McpServerState(name, "open")
        if self._locks[name].locked():
            return McpServerState(name, "starting")
        failed = self._failed.get(name)
        return McpServerState(name, "failed", failed.problem.details) if failed else McpServerState(name, "ready")

    def _notify(self) -> None:
        if self._last_states != (now := self.states()):
            self._last_states = now
            for listener in self._listeners:
                listener(now)


def _tool_changed_question(server: str, tool: str, diff: str) -> Question:
    """Return the question whether to accept a changed tool definition; `diff` is the difference as text."""
    text = f"{server} changed the definition of its tool {tool} since you accepted it. Call it anyway?"
    options = (
        QuestionOption(ACCEPT, "From now on, agents use the new definition."),
        QuestionOption(REJECT, "The agent has to find another way."),
    )
    return Question("changed", text, diff, options, free_text=False, mcp_server=server)
