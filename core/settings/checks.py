"""Which values a setting may have: the types of the schema, and what types cannot say."""

import re
from dataclasses import fields
from typing import Any, get_type_hints

from pydantic import ConfigDict, TypeAdapter

from core.domain.address import check_address, check_proxy
from core.domain.problems import Problem
from core.domain.tiers import NAMES
from core.settings.schema import OutsideAgent, Provider, Settings, ToolServer, about

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
MODEL = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}/\S.{0,199}|scripted")
SERVER = re.compile(r"[a-z0-9]([a-z0-9-]{0,22}[a-z0-9])?")
HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_HINTS = get_type_hints(Settings)


def _adapter(hint: Any) -> TypeAdapter[Any]:
    """Strict about kinds: the text "yes" is no yes."""
    loose = not isinstance(hint, type) or hint.__module__ != "builtins"
    return TypeAdapter(hint) if loose else TypeAdapter(hint, config=ConfigDict(strict=True, allow_inf_nan=False))


ADAPTERS = {one.name: _adapter(_HINTS[one.name]) for one in fields(Settings)}


def refuse_wrong(name: str, value: Any) -> None:
    """Raise a Problem for what the type allows and the setting does not."""
    words = about(name)
    if isinstance(value, int | float) and not isinstance(value, bool):
        low, high = words.low, words.high
        if (low is not None and value < low) or (high is not None and value > high):
            raise _wrong(name, f"{value:g} is not between {low:g} and {high:g}.")
    if name == "providers":
        _refuse_providers(value)
    if name == "tool_servers":
        _refuse_tool_servers(value)
    if name == "agents":
        _refuse_agents(value)
    if name == "web_search_url" and value:
        check_address(value, plain=True)
    if name == "proxy" and value:
        _refuse_proxy(value)
    named = [value] if name == "model" and value and value not in NAMES else _models(name, value)
    for model in named:
        if not MODEL.fullmatch(model):
            raise _wrong(name, f"{model!r} does not name a model as PROVIDER/MODEL.")


def _models(name: str, value: Any) -> list[str]:
    if name == "tiers":
        return [*value.small, *value.mid, *value.frontier]
    if name == "text_calls":
        return list(value)
    return [price.model for price in value] if name == "prices" else []


def _refuse_agents(agents: tuple[OutsideAgent, ...]) -> None:
    for agent in agents:
        if not NAME.fullmatch(agent.name):
            raise _wrong("agents", f"{agent.name!r} is no name: small letters, digits, dots and dashes.")
        if not agent.command.strip():
            raise _wrong("agents", f"{agent.name} has no command.")
    names = [agent.name for agent in agents]
    if twice := next((one for one in names if names.count(one) > 1), ""):
        raise _wrong("agents", f"{twice} is there twice.")


def _refuse_providers(providers: tuple[Provider, ...]) -> None:
    names = [provider.name for provider in providers]
    for name in names:
        if not NAME.fullmatch(name):
            raise _wrong("providers", f"{name!r} cannot be a name: small letters, digits, and . _ - between them.")
        if names.count(name) > 1:
            raise _wrong("providers", f"Two servers are called {name!r}.")
    for provider in providers:
        check_address(provider.url, provider.plain)


def _refuse_tool_servers(servers: tuple[ToolServer, ...]) -> None:
    names = [server.name for server in servers]
    for server in servers:
        if not SERVER.fullmatch(server.name):
            raise _wrong(
                "tool_servers", f"{server.name!r} cannot be a name: small letters, digits, and - between them."
            )
        if names.count(server.name) > 1:
            raise _wrong("tool_servers", f"Two tool servers are called {server.name!r}.")
        _refuse_tool_server(server)


def _refuse_tool_server(server: ToolServer) -> None:
    """Where it is, and what it is given."""
    texts = (server.command, *server.args, *(given.value for given in server.given))
    if bool(server.command.strip()) == bool(server.url) or "\0" in "".join(texts):
        raise _wrong("tool_servers", f"{server.name} has neither a command that could be run nor an address, or both.")
    if server.url and "${" not in server.url:  # else it is checked when the variables are filled in
        check_address(server.url, server.plain, "tool server")
    fits, kind = (HEADER, "a header") if server.url else (VARIABLE, "an environment variable")
    for given in server.given:
        if not fits.fullmatch(given.name):
            raise _wrong("tool_servers", f"{given.name[:40]!r} is no name of {kind}.")
        if given.value and "${" not in given.value:
            why = f"The value of {given.name} stands in it, and this file keeps no secrets."
            raise Problem(
                "The setting “tool_servers” cannot be used.", why, "Name a variable as ${NAME}, or leave it out."
            )


def _refuse_proxy(proxy: str) -> None:
    check_proxy(proxy)
    if "@" in proxy:
        raise _wrong("proxy", "It holds a user name or password, and this file keeps no secrets.")


def _wrong(name: str, why: str) -> Problem:
    return Problem(f"The setting “{name}” cannot be used.", why, "")
