"""Checks the values of settings: their types, which come from the dataclass Settings, and further rules."""

import re
from dataclasses import fields
from typing import Any, get_type_hints

from pydantic import ConfigDict, TypeAdapter

from core.domain.address import check_address, check_proxy
from core.domain.problems import Problem
from core.domain.tiers import TIER_NAMES
from core.settings.schema import ExternalAgentSettings, McpServerSettings, Provider, Settings, setting_info

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
MODEL = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}/\S.{0,199}|scripted")
SERVER = re.compile(r"[a-z0-9]([a-z0-9-]{0,22}[a-z0-9])?")
HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_HINTS = get_type_hints(Settings)


def _adapter(hint: Any) -> TypeAdapter[Any]:
    """Return a pydantic validator for a type. Simple types are not converted: the text "yes" is not valid as a bool."""
    lenient = not isinstance(hint, type) or hint.__module__ != "builtins"
    return TypeAdapter(hint) if lenient else TypeAdapter(hint, config=ConfigDict(strict=True, allow_inf_nan=False))


ADAPTERS = {setting.name: _adapter(_HINTS[setting.name]) for setting in fields(Settings)}


def check_value(name: str, value: Any) -> None:
    """Raise Problem if a value has the right type but is not valid for the setting `name`."""
    info = setting_info(name)
    if isinstance(value, int | float) and not isinstance(value, bool):
        is_too_low = info.low is not None and value < info.low
        is_too_high = info.high is not None and value > info.high
        if is_too_low or is_too_high:
            raise invalid_setting(name, f"{value:g} is not between {info.low:g} and {info.high:g}.")
    if name == "providers":
        _check_providers(value)
    if name == "mcp_servers":
        _check_mcp_servers(value)
    if name == "external_agents":
        _check_agents(value)
    if name == "search_url" and value:
        check_address(value, allow_http=True)
    if name == "proxy" and value:
        _check_proxy(value)
    for model in _model_names(name, value):
        if not MODEL.fullmatch(model):
            raise invalid_setting(name, f"{model!r} is not a model name of the form PROVIDER/MODEL.")


def _model_names(name: str, value: Any) -> list[str]:
    """Return the names of the models in the value of a setting, without the names of tiers."""
    if name == "model":
        return [value] if value and value not in TIER_NAMES else []
    if name == "tiers":
        return [*value.small, *value.mid, *value.frontier]
    if name in ("text_call_models", "slow_models"):
        return list(value)
    return [price.model for price in value] if name == "prices" else []


def _check_agents(agents: tuple[ExternalAgentSettings, ...]) -> None:
    for agent in agents:
        if not NAME.fullmatch(agent.name):
            raise invalid_setting(
                "external_agents",
                f"{agent.name!r} is not a valid name. Use lowercase letters, digits, dots, underscores and hyphens.",
            )
        if not agent.command.strip():
            raise invalid_setting("external_agents", f"{agent.name} has no command.")
    names = [agent.name for agent in agents]
    if duplicate := next((name for name in names if names.count(name) > 1), ""):
        raise invalid_setting("external_agents", f"Two external agents are named {duplicate!r}.")


def _check_providers(providers: tuple[Provider, ...]) -> None:
    names = [provider.name for provider in providers]
    for name in names:
        if not NAME.fullmatch(name):
            raise invalid_setting(
                "providers",
                f"{name!r} is not a valid name. Use lowercase letters, digits, dots, underscores and hyphens.",
            )
        if names.count(name) > 1:
            raise invalid_setting("providers", f"Two providers are named {name!r}.")
    for provider in providers:
        check_address(provider.url, provider.allow_http)


def _check_mcp_servers(servers: tuple[McpServerSettings, ...]) -> None:
    names = [server.name for server in servers]
    for server in servers:
        if not SERVER.fullmatch(server.name):
            raise invalid_setting(
                "mcp_servers", f"{server.name!r} is not a valid name. Use lowercase letters, digits and hyphens."
            )
        if names.count(server.name) > 1:
            raise invalid_setting("mcp_servers", f"Two MCP servers are named {server.name!r}.")
        _check_mcp_server(server)


def _check_mcp_server(server: McpServerSettings) -> None:
    """Raise Problem if a server's command or URL, or one of its variables or headers, is invalid."""
    texts = (server.command, *server.args, *(variable.value for variable in server.variables))
    if bool(server.command.strip()) == bool(server.url) or "\0" in "".join(texts):
        raise invalid_setting("mcp_servers", f"{server.name} needs either a command or a URL.")
    # A URL with variables is checked later, when they have been replaced by their values.
    if server.url and "${" not in server.url:
        check_address(server.url, server.allow_http, "MCP server")
    pattern, kind = (HEADER, "a header") if server.url else (VARIABLE, "an environment variable")
    for variable in server.variables:
        if not pattern.fullmatch(variable.name):
            raise invalid_setting("mcp_servers", f"{variable.name[:40]!r} is not a valid name for {kind}.")
        if variable.value and "${" not in variable.value:
            cause = f"It contains the value of {variable.name}, but secrets must not be stored in the settings file."
            raise invalid_setting("mcp_servers", cause, "Refer to a variable as ${NAME}, or leave the value empty.")


def _check_proxy(proxy: str) -> None:
    check_proxy(proxy)
    if "@" in proxy:
        raise invalid_setting(
            "proxy", "It contains a user name or password, but secrets must not be stored in the settings file."
        )


def invalid_setting(name: str, cause: str, fix: str = "") -> Problem:
    """Return a Problem that names a setting by its label."""
    return Problem(f"The setting “{setting_info(name).label}” is invalid.", cause, fix)
