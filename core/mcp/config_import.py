"""Import of MCP server configurations in the format of other apps: `{"mcpServers": {"name": {"command": …}}}`."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from core.domain.problems import Problem
from core.settings.schema import McpServerSettings, McpVariable

SERVER_LIST_KEYS = ("mcpServers", "servers", "mcp_servers", "context_servers")
URL_KEYS = ("url", "serverUrl", "httpUrl")
EXPECTED_FORMAT = 'Paste JSON such as {"mcpServers": {"files": {"command": "npx", "args": ["…"]}}}.'
MAX_SERVERS, MAX_CONFIG_LENGTH = 50, 256 << 10
MAX_NAME_LENGTH = 24
REFERENCE = "${"  # begins a reference to an environment variable
API_KEY = re.compile(r"\$\{\w*API_?KEY\b", re.IGNORECASE)  # reference to a variable such as `${OPENAI_API_KEY}`


@dataclass(frozen=True, slots=True)
class ImportedMcpServer:
    """An imported server.

    Attributes:
        secrets: values found in the configuration, to be stored in the keyring.
        missing_secrets: names of variables or headers without a value, which the user has to enter.
    """

    server: McpServerSettings
    secrets: Mapping[str, str] = field(default_factory=dict)
    missing_secrets: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"ImportedMcpServer({self.server.name!r})"


def parse_servers(text: str, name: str = "") -> tuple[ImportedMcpServer, ...]:
    """Parse the servers in a JSON text. `name` is for a single server without one. Raise Problem if there is none."""
    try:
        plain = json.loads(text) if len(text) <= MAX_CONFIG_LENGTH else None
    except (ValueError, RecursionError) as error:
        raise Problem("This is not valid JSON.", f"{error}.", EXPECTED_FORMAT) from None
    if not isinstance(plain, dict):
        raise Problem("This does not describe any MCP servers.", "", EXPECTED_FORMAT)
    servers = next((plain[key] for key in SERVER_LIST_KEYS if isinstance(plain.get(key), dict)), plain)
    if "command" in servers or any(key in servers for key in URL_KEYS):
        servers = {name or str(servers.get("name") or "server"): servers}
    if not servers or len(servers) > MAX_SERVERS or not all(isinstance(server, dict) for server in servers.values()):
        raise Problem("This does not describe any MCP servers.", "", EXPECTED_FORMAT)
    return tuple(_server(str(title), server) for title, server in servers.items())


def server_from_input(
    name: str, command_or_url: str, value_lines: str = "", allow_http: bool = False
) -> ImportedMcpServer:
    """Build a server from typed input: its command or URL, and its environment or headers as NAME=VALUE lines."""
    if command_or_url.startswith(("http://", "https://")):
        plain_config: dict[str, Any] = {"url": command_or_url}
    else:
        try:
            command, *args = shlex.split(command_or_url)
        except ValueError as error:
            raise Problem(
                "This command is not valid.", f"{error}.", "Check that all quotation marks are closed."
            ) from None
        plain_config = {"command": command, "args": args}
    values = dict(_pair(line) for line in value_lines.splitlines() if line.strip())
    is_remote = "url" in plain_config
    imported = _server(name, {**plain_config, "headers" if is_remote else "env": values}, typed=True)
    return replace(imported, server=replace(imported.server, name=name, allow_http=allow_http and is_remote))


def to_server_name(title: str) -> str:
    """Convert a title to a valid server name: lowercase letters, digits and hyphens."""
    return (
        re.sub(r"-+", "-", re.sub(r"[^a-z0-9]", "-", title.casefold())).strip("-")[:MAX_NAME_LENGTH].rstrip("-")
        or "server"
    )


def _server(title: str, plain: dict[str, Any], *, typed: bool = False) -> ImportedMcpServer:
    """Parse the configuration of one server.

    Unless the user typed it, references to environment variables are ignored or refused if they could send the values
    to a remote server or pass on an API key.
    """
    name = to_server_name(title)
    url = next((str(plain[key]) for key in URL_KEYS if plain.get(key)), "")
    if plain.get("type") == "sse":
        cause = "It uses the HTTP+SSE transport, which MCP has deprecated."
        raise Problem(f"{name} cannot be added.", cause, "Ask its developer for a Streamable HTTP URL.")
    values = plain.get("headers" if url else "env") or {}
    args = plain.get("args") or []
    if not isinstance(values, dict) or not isinstance(args, list) or bool(url) == bool(plain.get("command")):
        raise Problem(f"{name} cannot be added.", "It must have either a command or a URL.", EXPECTED_FORMAT)
    is_remote = bool(url)
    command = [] if is_remote else [str(part) for part in (plain["command"], *args)]
    if not typed:
        _check_untrusted(name, url, command)
    variables: list[McpVariable] = []
    secrets: dict[str, str] = {}
    missing: list[str] = []
    for variable, value in values.items():
        expanded = _variables(str(value))
        if REFERENCE in expanded and not typed and (is_remote or API_KEY.search(expanded)):
            expanded = ""  # Without a value, the user has to enter it.
        is_reference = REFERENCE in expanded
        variables.append(McpVariable(name=str(variable), value=expanded if is_reference else ""))
        if not expanded:
            missing.append(str(variable))
        elif not is_reference:
            secrets[str(variable)] = expanded
    server = McpServerSettings(
        name=name,
        command=command[0] if command else "",
        args=tuple(_variables(arg) for arg in command[1:]),
        url=_variables(url),
        variables=tuple(variables),
    )
    return ImportedMcpServer(server, secrets, tuple(missing))


def _check_untrusted(name: str, url: str, command: Sequence[str]) -> None:
    """Raise Problem if the URL refers to an environment variable, or the command to an API key.

    Called for configurations that the user did not type: their author could choose who receives the value.
    """
    if REFERENCE in _variables(url):
        cause = "Its URL contains a variable, whose value its server would receive."
        raise Problem(f"{name} cannot be added.", cause, "Add it yourself, with the address that you want to use.")
    if any(API_KEY.search(_variables(part)) for part in command):
        cause = "Its command contains an API key, which is sent only to its own provider."
        raise Problem(f"{name} cannot be added.", cause, "Add it yourself, with a key of its own.")


def _pair(line: str) -> tuple[str, str]:
    name, equals, value = line.partition("=")
    if not equals:
        raise Problem(f"{line.strip()[:40]!r} is not NAME=VALUE.", "", "Write one per line.")
    return name.strip(), value.strip()


def _variables(text: str) -> str:
    """Convert references to variables: `${env:NAME}` becomes `${NAME}`. A text with `${input:NAME}` becomes ""."""
    return "" if "${input:" in text else re.sub(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}", r"${\1}", text)
