"""The operations on MCP servers: add, remove, test, accept changes to their tools, enable and disable."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from core.domain.problems import ErrorDetails, Problem
from core.engine.policy.trust import FollowedFiles
from core.engine.services.mcp_mentions import ExpandedMessage, expand_mentions
from core.mcp.config_import import MAX_CONFIG_LENGTH, ImportedMcpServer, parse_servers
from core.mcp.server_config import SIGN_IN_NAME, environment_variables, secret_owner
from core.mcp.server_state import McpServerState
from core.mcp.servers import McpServers
from core.mcp.tool_definition import diff_tools, tool_rejection
from core.settings.api_keys import ApiKey, ApiKeys
from core.settings.schema import McpServerSettings, McpToolSettings, server_location
from core.settings.settings_file import SettingsFile
from core.store.rule_store import RuleStore
from core.tools.mcp_tools import mcp_server_of, mcp_tool_specs
from core.workspace.broker import FileBroker

MCP_FILE = ".mcp.json"
LOG_TAIL_BYTES = 64 << 10


class ChangedMcpTool(NamedTuple):
    """A tool that differs from its accepted definition."""

    name: str
    diff: str


class RejectedMcpTool(NamedTuple):
    """A tool that is not offered to agents."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class McpTestResult:
    """What an MCP server reported when it was started for a test.

    Attributes:
        protocol_version: the MCP version that the server uses, as a date.
        tools: all tools that the server offers.
        error: why the server did not start. In this case the other fields are empty.
    """

    name: str
    protocol_version: str = ""
    tools: tuple[McpToolSettings, ...] = ()
    changed: tuple[ChangedMcpTool, ...] = ()
    rejected: tuple[RejectedMcpTool, ...] = ()
    error: ErrorDetails | None = None


@dataclass(frozen=True, slots=True)
class McpServerRow:
    """A server in the settings with its state. `missing_secrets` names the secrets that have no stored value."""

    server: McpServerSettings
    state: McpServerState
    missing_secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProjectMcpServer:
    """A server from the `.mcp.json` of a trusted folder.

    `secrets` are the names of the secrets it needs, `variables` the user's environment variables that it receives.
    """

    folder: str
    server: McpServerSettings
    secrets: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class McpOverview:
    """The servers in the settings, the servers of trusted folders, and the errors of unreadable `.mcp.json` files."""

    rows: tuple[McpServerRow, ...] = ()
    project: tuple[ProjectMcpServer, ...] = ()
    errors: tuple[ErrorDetails, ...] = ()


class McpServerService:
    """Manages the MCP servers in the settings."""

    def __init__(
        self,
        settings: SettingsFile,
        servers: McpServers,
        secrets: ApiKeys,
        followed_files: Callable[[Path], FollowedFiles],
        rules: RuleStore,
    ) -> None:
        self._settings = settings
        self._rules = rules
        self._followed_files = followed_files
        self._servers = servers
        self._secrets = secrets
        self.subscribe = servers.subscribe
        self.mentions = servers.list_mentions

    async def expand_mentions(self, text: str, boundary: str) -> ExpandedMessage:
        """Return the user's message with the mentioned MCP resources and prompt inserted."""
        return await expand_mentions(text, self._servers, boundary)

    def list(self) -> tuple[McpServerSettings, ...]:
        return self._settings.current.mcp_servers

    async def overview(self, folders: Sequence[str] = ()) -> McpOverview:
        """List every server with its state, and the servers that trusted folders among `folders` define."""
        states = {state.name: state for state in self._servers.states().servers}
        rows = []
        for server in self.list():
            state = states.get(server.name, McpServerState(server.name))
            rows.append(McpServerRow(server, state, await self._missing_secrets(server)))
        offered: list[ProjectMcpServer] = []
        errors: list[ErrorDetails] = []
        known_names = {row.server.name for row in rows}
        for folder in folders:
            try:
                definitions = await asyncio.to_thread(project_servers, Path(folder), self._followed_files(Path(folder)))
            except Problem as problem:
                errors.append(replace(problem.details, cause=f"{folder}/{MCP_FILE}: {problem.details.cause}"))
                continue
            offered += [
                ProjectMcpServer(
                    folder,
                    definition.server,
                    secrets=(*definition.secrets, *definition.missing_secrets),
                    variables=environment_variables(definition.server),
                )
                for definition in definitions
                if definition.server.name not in known_names
            ]
        return McpOverview(tuple(rows), tuple(offered), tuple(errors))

    async def _missing_secrets(self, server: McpServerSettings) -> tuple[str, ...]:
        """Return the names of the secrets of a server that have no stored value."""
        owners = {name: secret_owner(server, name) for name in _secret_names(server)}
        return tuple([name for name, owner in owners.items() if not (await self._secrets.find(owner)).value])

    async def add_from_project(self, folder: str, name: str) -> McpTestResult:
        """Copy a server that a trusted folder defines into the settings."""
        definitions = await asyncio.to_thread(project_servers, Path(folder), self._followed_files(Path(folder)))
        definition = next((definition for definition in definitions if definition.server.name == name), None)
        if definition is None:
            raise Problem(f"{folder} no longer defines an MCP server {name!r}.", "", "Reload the list.")
        return await self.add(
            definition.server, definition.secrets, allow_missing_secrets=bool(definition.missing_secrets)
        )

    def log_tail(self, name: str) -> str:
        """Return the last lines of the server's log, without those before its latest start."""
        logs = [self._servers.log_path(name), self._servers.log_path(f"{name}.test")]
        existing = [log for log in logs if log.exists()]
        if not existing:
            return ""
        latest = max(existing, key=lambda log: log.stat().st_mtime_ns)
        with latest.open("rb") as file:
            file.seek(max(0, latest.stat().st_size - LOG_TAIL_BYTES))
            return file.read().decode("utf-8", "replace")

    def require_known(self, allow: Sequence[str]) -> None:
        """Raise Problem if `allow` names an MCP tool that does not exist or is disabled."""
        specs = mcp_tool_specs(self.list())
        for text in allow:
            name = text.partition(":")[0].strip()
            if (server := mcp_server_of(name)) and name not in specs:
                exists = any(configured.name == server for configured in self.list())
                no_tool = f"The MCP server {server} has no such tool, or it is disabled."
                why = no_tool if exists else f"There is no MCP server {server}."
                raise Problem(f"There is no tool {name!r} to allow.", why, "List the servers with `journeyman mcp`.")

    async def add(
        self,
        server: McpServerSettings,
        secrets: Mapping[str, str] | None = None,
        *,
        allow_missing_secrets: bool = False,
        open_page: Callable[[str], None] | None = None,
    ) -> McpTestResult:
        """Start a server and, if that works, save it with its tools. Raise `Problem` if another server has its name.

        `secrets` are values to store in the keyring, by variable or header name. With `allow_missing_secrets` the
        server is saved even if it does not start, so that the values can be set later. With `open_page`, which shows
        a URL in the browser, the user first signs in to the server.
        """
        self._settings.check(mcp_servers=(server,))
        self._check_name_is_free(server)
        for name, value in (secrets or {}).items():
            await self._secrets.save(secret_owner(server, name), value)
        if open_page:
            server = await self._sign_in(server, open_page)
        result = await self._probe(server)
        if result.error is None or allow_missing_secrets:
            await self._save(replace(server, tools=result.tools))
        return result

    async def sign_in(self, name: str, open_page: Callable[[str], None]) -> McpTestResult:
        """Have the user sign in to a remote server again, and return its tools. Accept them if none are known yet."""
        server = await self._sign_in(self._servers.find(name), open_page)
        await self._save(server)
        return await (self.test(name) if server.tools else self.accept(name))

    async def sign_out(self, name: str) -> bool:
        """Delete the tokens of a sign-in. Return whether there were any."""
        server = self._servers.find(name)
        deleted = False
        with suppress(Problem):  # Tokens that an unavailable keyring cannot delete are no longer used.
            deleted = await self._secrets.delete(secret_owner(server, SIGN_IN_NAME))
        await self._save(replace(server, oauth=False))
        return deleted

    async def keeps_sign_in(self, name: str) -> bool:
        """Return whether the tokens of a sign-in are in the keyring. Otherwise they last until Journeyman exits."""
        return (await self._secrets.find(secret_owner(self._servers.find(name), SIGN_IN_NAME))).source == "keyring"

    async def _sign_in(self, server: McpServerSettings, open_page: Callable[[str], None]) -> McpServerSettings:
        if not server.url:
            raise Problem(f"{server.name} is a program, not a URL to sign in to.", "", "Set its keys instead.")
        await self._servers.sign_in(server, open_page)
        return replace(server, oauth=True)

    async def set_secret(self, name: str, secret: str, value: str) -> ApiKey:
        """Store one of the server's secrets in the keyring and return where it is stored."""
        server = self._servers.find(name)
        if secret not in _secret_names(server):
            names = ", ".join(_secret_names(server)) or "none"
            fix = "Add the server again with --env NAME or --header NAME."
            raise Problem(f"{name} has no secret {secret!r}.", f"Its secrets are: {names}.", fix)
        stored = await self._secrets.save(secret_owner(server, secret), value)
        await self._servers.disconnect(name)
        if not server.tools:  # The server was added without its secrets, so its tools are not known yet.
            await self.accept(name)
        return stored

    async def remove(self, name: str) -> None:
        """Remove a server, its secrets, and the rules that allow its tools: another server may take the name."""
        server = self._servers.find(name)
        for rule in self._rules.current().rules or ():
            if rule.effect == "allow" and mcp_server_of(rule.tool) == name:
                await self._rules.revoke(rule.id)
        self._settings.change(mcp_servers=tuple(other for other in self.list() if other.name != name))
        await self._servers.disconnect(name)
        names = _secret_names(server)
        if server.oauth:
            names.append(SIGN_IN_NAME)
        for secret in names:
            with suppress(Problem):  # Secrets that an unavailable keyring cannot delete are no longer used.
                await self._secrets.delete(secret_owner(server, secret))

    async def test(self, name: str) -> McpTestResult:
        """Start the server and compare its tools with the tools that the user accepted."""
        return await self._probe(self._servers.find(name))

    async def accept(self, name: str) -> McpTestResult:
        """Start the server and accept its current tool definitions. Disabled tools stay disabled."""
        server = self._servers.find(name)
        result = await self._probe(server)
        if result.error is None:
            disabled = {tool.name for tool in server.tools if not tool.enabled}
            tools = tuple(replace(tool, enabled=tool.name not in disabled) for tool in result.tools)
            await self._save(replace(server, tools=tools))
        return result

    async def set_enabled(self, name: str, tool: str, enabled: bool) -> None:
        """Enable or disable a server, or one of its tools."""
        server = self._servers.find(name)
        if not tool:
            await self._save(replace(server, enabled=enabled))
            return
        if tool not in {server_tool.name for server_tool in server.tools}:
            raise Problem(f"{name} has no tool {tool!r}.", "", f"List them with `journeyman mcp test {name}`.")
        tools = tuple(
            replace(server_tool, enabled=enabled) if server_tool.name == tool else server_tool
            for server_tool in server.tools
        )
        await self._save(replace(server, tools=tools))

    def _check_name_is_free(self, server: McpServerSettings) -> None:
        """Raise `Problem` if another server has the name: rules that allow its tools would cover the new one."""
        present = next((other for other in self.list() if other.name == server.name), None)
        if present and _program(present) != _program(server):
            message = f"There is already an MCP server {server.name!r}."
            fix = f"Choose another name, or remove it first: journeyman mcp remove {server.name}"
            raise Problem(message, f"It is {server_location(present)}.", fix)

    async def _save(self, server: McpServerSettings) -> None:
        self._servers.save(server)
        await self._servers.disconnect(server.name)

    async def _probe(self, server: McpServerSettings) -> McpTestResult:
        try:
            connection = await self._servers.connect_separately(server)
        except Problem as problem:
            return McpTestResult(server.name, error=problem.details)
        await connection.close()
        accepted = {tool.name: tool for tool in server.tools}
        current = connection.tools
        diffs = {name: diff_tools(accepted.get(name), current.get(name)) for name in {**accepted, **current}}
        rejections = {name: tool_rejection(tool) for name, tool in current.items()}
        return McpTestResult(
            name=server.name,
            protocol_version=connection.protocol_version,
            tools=tuple(current.values()),
            changed=tuple(ChangedMcpTool(name, diff) for name, diff in diffs.items() if diff),
            rejected=tuple(RejectedMcpTool(name, reason) for name, reason in rejections.items() if reason),
        )


def _program(server: McpServerSettings) -> tuple[object, ...]:
    """Return what identifies the program or the remote service of a server, to compare two servers of one name."""
    return server.command, server.args, server.url, server.package


def _secret_names(server: McpServerSettings) -> list[str]:
    return [variable.name for variable in server.variables if not variable.value]


def project_servers(folder: Path, follows: FollowedFiles) -> tuple[ImportedMcpServer, ...]:
    """Return the servers that the folder's `.mcp.json` defines, if the user trusts the current contents of the file."""
    try:
        with FileBroker(folder) as broker:
            body = broker.read(MCP_FILE, MAX_CONFIG_LENGTH) if broker.stat(MCP_FILE) is not None else b""
    except (Problem, OSError):
        return ()
    return parse_servers(body.decode("utf-8", "replace")) if body and follows(MCP_FILE, body) else ()
