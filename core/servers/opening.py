"""What it takes to reach a tool server: variables filled in, and what it is given found."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from core.domain.address import check_address, origin_of
from core.domain.problems import Problem
from core.settings.schema import ToolServer
from core.settings.secrets import Owner, Secrets

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


@dataclass(frozen=True, slots=True)
class Opening:
    """A server with its variables filled in, the values it is given, and the proxy between, if any."""

    server: ToolServer
    given: Mapping[str, str]
    proxy: str = ""

    def __repr__(self) -> str:
        return f"Opening({self.server.name!r})"


def owner(server: ToolServer, name: str) -> Owner:
    """Of a value in the keyring: it is for the server as it is now, and not found for another of its name."""
    return Owner(f"tool server {server.name} {name}", origin_of(server.url) or server.url or server.command)


async def opening(server: ToolServer, secrets: Secrets, environment: Mapping[str, str], proxy: str = "") -> Opening:
    """Raises Problem where something is not there."""

    def filled(text: str) -> str:
        return fill(text, server.name, environment)

    given: dict[str, str] = {}
    for one in server.given:
        given[one.name] = filled(one.value) if one.value else await _secret(server, one.name, secrets)
    url, args = filled(server.url), tuple(_at_home(filled(arg)) for arg in server.args)
    if url:
        check_address(url, server.plain, "tool server")
    return Opening(replace(server, command=_at_home(filled(server.command)), args=args, url=url), given, proxy)


def fill(text: str, server: str, environment: Mapping[str, str]) -> str:
    """The text with `${NAME}` and `${NAME:-otherwise}` in their places."""

    def value(found: re.Match[str]) -> str:
        if name := environment.get(found[1]) or found[2]:
            return name
        do = "Set it in the environment that Journeyman is started from."
        raise Problem(f"The variable {found[1]} is not set.", f"The tool server {server} is given it.", do)

    return VARIABLE.sub(value, text)


def _at_home(text: str) -> str:
    """Nobody's shell reads it, but people write `~` for their home."""
    return str(Path.home() / text[2:]) if text.startswith("~/") else text


async def _secret(server: ToolServer, name: str, secrets: Secrets) -> str:
    key = await secrets.find(owner(server, name))
    if not key.value:
        why = f"{key.trouble.what} {key.trouble.why}" if key.trouble else f"There is none for {name}."
        do = f"Give it in the settings, page Tool servers, or with: journeyman mcp key {server.name} {name}"
        raise Problem(f"The tool server {server.name} has no key.", why, do)
    return key.value
