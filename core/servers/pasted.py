"""Tool servers as other apps write them down: `{"mcpServers": {"name": {"command": …}}}` and its relatives."""

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from core.domain.problems import Problem
from core.settings.schema import Given, ToolServer

LISTS = ("mcpServers", "servers", "mcp_servers", "context_servers")
ADDRESSES = ("url", "serverUrl", "httpUrl")
WANTED = 'Paste JSON such as {"mcpServers": {"files": {"command": "npx", "args": ["…"]}}}.'
MOST, LARGEST = 50, 256 << 10
NAME = 24


@dataclass(frozen=True, slots=True)
class Pasted:
    """A server that was described. `keys` stood in it and belong in the keyring, `needs` are values that did not."""

    server: ToolServer
    keys: Mapping[str, str] = field(default_factory=dict)
    needs: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Pasted({self.server.name!r})"


def read_servers(text: str, name: str = "") -> tuple[Pasted, ...]:
    """Those that a text describes; `name` is for one that is described without. Raises Problem where none is."""
    try:
        plain = json.loads(text) if len(text) <= LARGEST else None
    except (ValueError, RecursionError) as error:
        raise Problem("This is no JSON.", f"{error}.", WANTED) from None
    if not isinstance(plain, dict):
        raise Problem("This describes no tool servers.", "", WANTED)
    found = next((plain[key] for key in LISTS if isinstance(plain.get(key), dict)), plain)
    if "command" in found or any(key in found for key in ADDRESSES):
        found = {name or str(found.get("name") or "server"): found}
    if not found or len(found) > MOST or not all(isinstance(one, dict) for one in found.values()):
        raise Problem("This describes no tool servers.", "", WANTED)
    return tuple(_server(str(title), one) for title, one in found.items())


def typed_server(name: str, what: str, given: str = "", plain: bool = False) -> Pasted:
    """One that was typed: its command or address, and below one another NAME=VALUE that it is given."""
    if what.startswith(("http://", "https://")):
        where: dict[str, Any] = {"url": what}
    else:
        try:
            command, *args = shlex.split(what)
        except ValueError as error:
            raise Problem("This command cannot be read.", f"{error}.", "Close its quotation marks.") from None
        where = {"command": command, "args": args}
    values = dict(_pair(line) for line in given.splitlines() if line.strip())
    made = _server(name, {**where, "headers" if "url" in where else "env": values})
    return replace(made, server=replace(made.server, name=name, plain=plain and "url" in where))


def plain_name(title: str) -> str:
    """The title as a name of ours."""
    return re.sub(r"-+", "-", re.sub(r"[^a-z0-9]", "-", title.casefold())).strip("-")[:NAME].rstrip("-") or "server"


def _server(title: str, plain: dict[str, Any]) -> Pasted:
    name = plain_name(title)
    url = next((str(plain[key]) for key in ADDRESSES if plain.get(key)), "")
    if plain.get("type") == "sse":
        why = "It speaks the old kind of HTTP with server-sent events, which the protocol has given up."
        raise Problem(f"{name} cannot be added.", why, "Ask its makers for an address with Streamable HTTP.")
    values = plain.get("headers" if url else "env") or {}
    args = plain.get("args") or []
    if not isinstance(values, dict) or not isinstance(args, list) or bool(url) == bool(plain.get("command")):
        raise Problem(f"{name} cannot be added.", "It has neither a command nor an address, or both.", WANTED)
    given: list[Given] = []
    keys: dict[str, str] = {}
    needs: list[str] = []
    for of, value in values.items():
        words = _variables(str(value))
        given.append(Given(name=str(of), value=words if "${" in words else ""))
        if "${" not in words and words:
            keys[str(of)] = words
        elif not words:
            needs.append(str(of))
    command = "" if url else str(plain["command"])
    server = ToolServer(
        name=name, command=command, args=() if url else tuple(_variables(str(arg)) for arg in args),
        url=_variables(url), given=tuple(given),
    )  # fmt: skip
    return Pasted(server, keys, tuple(needs))


def _pair(line: str) -> tuple[str, str]:
    name, equals, value = line.partition("=")
    if not equals:
        raise Problem(f"{line.strip()[:40]!r} is no NAME=VALUE.", "", "Write one on each line.")
    return name.strip(), value.strip()


def _variables(text: str) -> str:
    """`${env:NAME}` is `${NAME}`; what is to be typed (`${input:NAME}`) is left out, and asked for."""
    return "" if "${input:" in text else re.sub(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}", r"${\1}", text)
