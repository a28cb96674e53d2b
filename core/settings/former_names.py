"""Maps the names in settings files of version 1, from before the first release, to the present names."""

from collections.abc import Mapping
from typing import Any

SETTINGS = {
    "text_calls": "text_call_models",
    "max_rounds": "max_turns",
    "learning_after": "review_after_calls",
    "meaning": "embedding_model",
    "compact_at": "compact_at_tokens",
    "web_search": "search_engine",
    "web_search_url": "search_url",
    "tool_servers": "mcp_servers",
    "agents": "external_agents",
    "watch_agents": "watch_sessions",
    "receive_traces": "otlp_receive_port",
    "send_traces": "otlp_export_url",
    "connect_s": "connect_timeout_s",
    "first_s": "first_token_timeout_s",
    "silence_s": "idle_timeout_s",
}
# The old and the present names of the fields in the items of a setting, by the setting's present name.
FIELDS: Mapping[str, Mapping[str, str]] = {
    "providers": {"wire": "api", "plain": "allow_http", "variable": "api_key_env"},
    "prices": {"cached": "cache_read", "window": "context_window"},
    "mcp_servers": {"plain": "allow_http", "given": "variables", "on": "enabled"},
}
TOOL_FIELDS = {"on": "enabled", "schema": "input_schema"}
TIER_CONDITIONS = {"failure": "after_failure", "first": "first_step"}


def renamed(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings from a file of version 1 under their present names. Unknown settings keep their names."""
    settings = {SETTINGS.get(name, name): value for name, value in content.items() if name != "form"}
    for name, fields in FIELDS.items():
        if isinstance(settings.get(name), list):
            settings[name] = [_renamed_fields(item, fields) for item in settings[name]]
    for server in settings.get("mcp_servers") or ():
        if isinstance(server, dict) and isinstance(server.get("tools"), list):
            server["tools"] = [_renamed_fields(tool, TOOL_FIELDS) for tool in server["tools"]]
    tiers = settings.get("tiers")
    if isinstance(tiers, dict) and isinstance(tiers.get("rules"), list):
        settings["tiers"] = {**tiers, "rules": [_renamed_rule(rule) for rule in tiers["rules"]]}
    return settings


def _renamed_fields(item: Any, names: Mapping[str, str]) -> Any:
    """Return an item of a list with the present names of its fields; anything but an object stays as it is."""
    if not isinstance(item, dict):
        return item
    return {names.get(name, name): value for name, value in item.items()}


def _renamed_rule(rule: Any) -> Any:
    if not isinstance(rule, dict) or "when" not in rule:
        return rule
    return {**rule, "when": TIER_CONDITIONS.get(rule["when"], rule["when"])}
