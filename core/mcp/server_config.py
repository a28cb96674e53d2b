"""Preparation of an MCP server's configuration: variables expanded and secrets read from the keyring."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from core.domain.address import check_address, origin_of
from core.domain.problems import Problem
from core.settings.api_keys import ApiKeys, KeyOwner
from core.settings.schema import McpServerSettings

SIGN_IN_NAME = "OAuth sign-in"  # part of the names of existing keyring entries, so it must not change
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


@dataclass(frozen=True, slots=True)
class ResolvedMcpServer:
    """A server with its variables expanded. `values` are its environment variables or HTTP headers, with secrets."""

    server: McpServerSettings
    values: Mapping[str, str]
    proxy: str = ""

    def __repr__(self) -> str:
        return f"ResolvedMcpServer({self.server.name!r})"


def secret_owner(server: McpServerSettings, name: str) -> KeyOwner:
    """Return the keyring entry of a value. It is bound to the URL or command, so another server with the same name
    cannot read it.
    """
    # This name identifies existing keyring entries, so it must not change.
    return KeyOwner(f"tool server {server.name} {name}", origin_of(server.url) or server.url or server.command)


async def resolve_server(
    server: McpServerSettings, secrets: ApiKeys, environment: Mapping[str, str], proxy: str = ""
) -> ResolvedMcpServer:
    """Resolve a server. Raises `Problem` if a variable or a secret is missing."""

    def expand(text: str) -> str:
        return expand_variables(text, server.name, environment)

    values: dict[str, str] = {}
    for variable in server.variables:
        name = variable.name
        values[name] = expand(variable.value) if variable.value else await _secret(server, name, secrets)
    url, args = expand(server.url), tuple(_expand_home(expand(arg)) for arg in server.args)
    if url:
        check_address(url, server.allow_http, "MCP server")
    return ResolvedMcpServer(
        replace(server, command=_expand_home(expand(server.command)), args=args, url=url), values, proxy
    )


def environment_variables(server: McpServerSettings) -> tuple[str, ...]:
    """Return the names of the user's environment variables whose values the server receives."""
    texts = (server.url, server.command, *server.args, *(variable.value for variable in server.variables))
    return tuple(dict.fromkeys(match[1] for text in texts for match in VARIABLE.finditer(text)))


def expand_variables(text: str, server: str, environment: Mapping[str, str]) -> str:
    """Expand `${NAME}` and `${NAME:-default}` in a text. Raises `Problem` if a variable without default is not set."""

    def expand(match: re.Match[str]) -> str:
        if value := environment.get(match[1]) or match[2]:
            return value
        fix = "Set it in the environment that Journeyman is started from."
        raise Problem(f"The variable {match[1]} is not set.", f"The MCP server {server} uses it.", fix)

    return VARIABLE.sub(expand, text)


def _expand_home(text: str) -> str:
    """Expand a leading `~/`, because the program is started without a shell."""
    return str(Path.home() / text[2:]) if text.startswith("~/") else text


async def _secret(server: McpServerSettings, name: str, secrets: ApiKeys) -> str:
    key = await secrets.find(secret_owner(server, name))
    if not key.value:
        cause = f"{key.error.message} {key.error.cause}" if key.error else f"None is set for {name}."
        fix = f"Set it in the settings, page MCP servers, or with: journeyman mcp key {server.name} {name}"
        raise Problem(f"The MCP server {server.name} has no key.", cause, fix)
    return key.value
