"""Checks the values of settings: their types, which come from the dataclass Settings, and further rules."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any, get_type_hints

from pydantic import ConfigDict, TypeAdapter

from core.domain.address import check_address, check_proxy
from core.domain.problems import Problem
from core.domain.tiers import TIER_NAMES, Tiers
from core.settings.schema import (
    ExternalAgentSettings,
    McpServerSettings,
    McpVariable,
    PriceOverride,
    Provider,
    Settings,
    setting_info,
)

PROVIDER_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
AGENT_NAME = PROVIDER_NAME
MODEL_NAME = re.compile(rf"{PROVIDER_NAME.pattern}/\S.{{0,199}}|scripted")
MCP_SERVER_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,22}[a-z0-9])?")
HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
ENVIRONMENT_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")

PROVIDER_NAME_HINT = "Use lowercase letters, digits, dots, underscores and hyphens."
AGENT_NAME_HINT = PROVIDER_NAME_HINT
MCP_SERVER_NAME_HINT = "Use lowercase letters, digits and hyphens."
PLACEHOLDER_START = "${"  # `${NAME}` stands for the value of an environment variable


def check_value(setting: str, value: Any) -> None:
    """Raise Problem if a value has the right type but is not valid for a setting."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        _check_limits(setting, value)
    check = CHECKS.get(setting)
    if check is not None:
        check(value)


def invalid_setting(setting: str, cause: str, fix: str = "") -> Problem:
    """Return a Problem that names a setting by its label."""
    return Problem(f"The setting “{setting_info(setting).label}” is invalid.", cause, fix)


def _check_limits(setting: str, number: float) -> None:
    info = setting_info(setting)
    assert info.low is not None, f"{setting} has no lower limit"
    assert info.high is not None, f"{setting} has no upper limit"
    if not info.low <= number <= info.high:
        raise invalid_setting(setting, f"{number:g} is not between {info.low:g} and {info.high:g}.")


def _check_model(model: str) -> None:
    if model and model not in TIER_NAMES:
        _check_model_names("model", [model])


def _check_tiers(tiers: Tiers) -> None:
    _check_model_names("tiers", [*tiers.small, *tiers.mid, *tiers.frontier])


def _check_prices(prices: tuple[PriceOverride, ...]) -> None:
    _check_model_names("prices", [price.model for price in prices])


def _check_slow_models(models: tuple[str, ...]) -> None:
    _check_model_names("slow_models", models)


def _check_text_call_models(models: tuple[str, ...]) -> None:
    _check_model_names("text_call_models", models)


def _check_providers(providers: tuple[Provider, ...]) -> None:
    for provider in providers:
        _check_name("providers", provider.name, PROVIDER_NAME, PROVIDER_NAME_HINT)
    _check_unique("providers", "providers", [provider.name for provider in providers])
    for provider in providers:
        check_address(provider.url, provider.allow_http)


def _check_external_agents(agents: tuple[ExternalAgentSettings, ...]) -> None:
    for agent in agents:
        _check_name("external_agents", agent.name, AGENT_NAME, AGENT_NAME_HINT)
        if not agent.command.strip():
            raise invalid_setting("external_agents", f"{agent.name} has no command.")
    _check_unique("external_agents", "external agents", [agent.name for agent in agents])


def _check_mcp_servers(servers: tuple[McpServerSettings, ...]) -> None:
    for server in servers:
        _check_name("mcp_servers", server.name, MCP_SERVER_NAME, MCP_SERVER_NAME_HINT)
    _check_unique("mcp_servers", "MCP servers", [server.name for server in servers])
    for server in servers:
        _check_mcp_server(server)


def _check_mcp_server(server: McpServerSettings) -> None:
    has_command = bool(server.command.strip())
    has_url = bool(server.url)
    if has_command == has_url:
        raise invalid_setting("mcp_servers", f"{server.name} needs either a command or a URL.")
    _check_null_characters(server)
    if has_url:
        _check_remote_mcp_server(server)
    else:
        _check_local_mcp_server(server)


def _check_null_characters(server: McpServerSettings) -> None:
    """Raise Problem for a null character, which neither a process nor an HTTP request can receive."""
    values = [variable.value for variable in server.variables]
    if any("\0" in text for text in (server.command, *server.args, *values)):
        cause = f"The command, an argument, a variable or a header of {server.name} contains a null character."
        raise invalid_setting("mcp_servers", cause)


def _check_remote_mcp_server(server: McpServerSettings) -> None:
    # A URL with placeholders is checked later, when they have been replaced by their values.
    if PLACEHOLDER_START not in server.url:
        check_address(server.url, server.allow_http, "MCP server")
    for header in server.variables:
        if not HEADER_NAME.fullmatch(header.name):
            raise invalid_setting("mcp_servers", f"{header.name[:40]!r} is not a valid name for a header.")
        _check_no_secret(header)


def _check_local_mcp_server(server: McpServerSettings) -> None:
    for variable in server.variables:
        if not ENVIRONMENT_VARIABLE_NAME.fullmatch(variable.name):
            cause = f"{variable.name[:40]!r} is not a valid name for an environment variable."
            raise invalid_setting("mcp_servers", cause)
        _check_no_secret(variable)


def _check_no_secret(variable: McpVariable) -> None:
    """Raise Problem if the value of an environment variable or a header is given, instead of referred to."""
    if variable.value and PLACEHOLDER_START not in variable.value:
        cause = f"It contains the value of {variable.name}, but secrets must not be stored in the settings file."
        raise invalid_setting("mcp_servers", cause, "Refer to a variable as ${NAME}, or leave the value empty.")


def _check_search_url(url: str) -> None:
    if url:
        check_address(url, allow_http=True)


def _check_proxy(proxy: str) -> None:
    if not proxy:
        return
    check_proxy(proxy)
    if "@" in proxy:
        cause = "It contains a user name or password, but secrets must not be stored in the settings file."
        raise invalid_setting("proxy", cause)


def _check_name(setting: str, name: str, pattern: re.Pattern[str], hint: str) -> None:
    if not pattern.fullmatch(name):
        raise invalid_setting(setting, f"{name!r} is not a valid name. {hint}")


def _check_unique(setting: str, items: str, names: Iterable[str]) -> None:
    """Raise Problem if a name occurs more than once. `items` is the plural of what has these names."""
    for name, count in Counter(names).items():
        if count > 1:
            raise invalid_setting(setting, f"Two {items} are named {name!r}.")


def _check_model_names(setting: str, models: Iterable[str]) -> None:
    for model in models:
        if not MODEL_NAME.fullmatch(model):
            raise invalid_setting(setting, f"{model!r} is not a model name of the form PROVIDER/MODEL.")


def _type_adapter(hint: Any) -> TypeAdapter[Any]:
    """Return a pydantic validator for a type. Built-in types are not converted: the text "yes" is not a valid bool."""
    is_builtin = isinstance(hint, type) and hint.__module__ == "builtins"
    if is_builtin:
        return TypeAdapter(hint, config=ConfigDict(strict=True, allow_inf_nan=False))
    return TypeAdapter(hint)


_HINTS = get_type_hints(Settings)

# The validator of each setting's type.
ADAPTERS = {setting.name: _type_adapter(_HINTS[setting.name]) for setting in fields(Settings)}

# The rules that a setting's type and limits cannot express. Each check raises Problem.
CHECKS: Mapping[str, Callable[[Any], None]] = {
    "model": _check_model,
    "tiers": _check_tiers,
    "prices": _check_prices,
    "slow_models": _check_slow_models,
    "text_call_models": _check_text_call_models,
    "providers": _check_providers,
    "external_agents": _check_external_agents,
    "mcp_servers": _check_mcp_servers,
    "search_url": _check_search_url,
    "proxy": _check_proxy,
}
