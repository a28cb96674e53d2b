"""Parsing of ACP session updates; missing or malformed values become None."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from core.domain.external_agents import ExternalAgentOption, ExternalAgentSetting

STATES = frozenset({"pending", "in_progress", "completed", "failed"})
MAX_ITEMS = 100  # options, locations or plan entries read from one update; further ones are ignored


@dataclass(frozen=True, slots=True)
class MessageChunk:
    """A piece of the agent's message or reasoning. Pieces of one message share their `message_id`; empty if unknown."""

    text: str
    is_reasoning: bool = False
    message_id: str = ""


@dataclass(frozen=True, slots=True)
class AgentFileDiff:
    """A file change as reported by the agent; `before` is None for a new file."""

    path: str
    before: str | None
    after: str


@dataclass(frozen=True, slots=True)
class ToolCallUpdate:
    """A new tool call or an update to one; None means unchanged."""

    id: str
    title: str | None = None
    kind: str | None = None
    status: str | None = None
    text: str | None = None
    diffs: tuple[AgentFileDiff, ...] | None = None
    terminals: tuple[str, ...] | None = None
    paths: tuple[str, ...] | None = None
    input: Any = None
    output: Any = None


class PlanEntry(NamedTuple):
    """An entry of a plan. `status` is pending, in_progress or completed."""

    text: str
    status: str


@dataclass(frozen=True, slots=True)
class PlanUpdate:
    """The agent's whole plan."""

    entries: tuple[PlanEntry, ...]


@dataclass(frozen=True, slots=True)
class AgentUsage:
    """The tokens used of the context window, and the session's cost so far in US dollars; None if unknown."""

    used_tokens: int
    context_window: int
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class SettingChanged:
    """A setting of the agent has a new value."""

    setting: str
    value: str


@dataclass(frozen=True, slots=True)
class SettingsListed:
    settings: tuple[ExternalAgentSetting, ...]


@dataclass(frozen=True, slots=True)
class IgnoredUpdate:
    """An update of a known kind that Journeyman does not use."""


SessionUpdate = (
    MessageChunk | ToolCallUpdate | PlanUpdate | AgentUsage | SettingChanged | SettingsListed | IgnoredUpdate
)
IGNORED_UPDATES = frozenset({"user_message_chunk", "available_commands_update", "session_info_update", "plan_removed"})


def parse_update(update: Mapping[str, Any]) -> SessionUpdate | None:
    """Parse a session update; None if it is unknown or malformed."""
    kind = update.get("sessionUpdate")
    parser = UPDATE_PARSERS.get(kind) if isinstance(kind, str) else None
    if parser is None:
        return IgnoredUpdate() if kind in IGNORED_UPDATES else None
    return parser(update)


def _message_chunk(update: Mapping[str, Any]) -> SessionUpdate | None:
    is_reasoning = update.get("sessionUpdate") == "agent_thought_chunk"
    return MessageChunk(block_text(update.get("content")), is_reasoning, _str_or_none(update.get("messageId")) or "")


def parse_call(update: Mapping[str, Any]) -> ToolCallUpdate | None:
    """Parse a tool call or an update to one; None if it has no id."""
    if not isinstance(name := update.get("toolCallId"), str):
        return None
    content = update.get("content")
    locations = update.get("locations")
    status = _str_or_none(update.get("status"))
    parsed = ToolCallUpdate(
        id=name,
        title=_str_or_none(update.get("title")),
        kind=_str_or_none(update.get("kind")),
        status=status if status in STATES else None,
        paths=_paths(locations) if isinstance(locations, list) else None,
        input=update.get("rawInput"),
        output=update.get("rawOutput"),
    )
    return _with_content(parsed, content) if isinstance(content, list) else parsed


def _paths(locations: list[Any]) -> tuple[str, ...]:
    return tuple(
        str(location["path"]) for location in locations[:MAX_ITEMS] if isinstance(location, dict) and "path" in location
    )


def _with_content(call: ToolCallUpdate, content: list[Any]) -> ToolCallUpdate:
    blocks = [block for block in content[:MAX_ITEMS] if isinstance(block, dict)]
    return replace(
        call,
        text="\n".join(block_text(block.get("content")) for block in blocks if block.get("type") == "content"),
        diffs=tuple(filter(None, map(_file_diff, blocks))),
        terminals=tuple(
            block["terminalId"]
            for block in blocks
            if block.get("type") == "terminal" and isinstance(block.get("terminalId"), str)
        ),
    )


def block_text(block: object) -> str:
    """Return a content block as text. For content that cannot be shown, return its name in brackets."""
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "resource_link", "uri": uri, **rest}:
            return f"[{rest.get('name') or uri}: {uri}]"
        case {"type": "resource", "resource": {"uri": uri, "text": str(text)}}:
            return f"{uri}\n{text}"
        case {"type": "resource", "resource": {"uri": uri}}:
            return f"[{uri}: a binary file]"
        case {"type": str(kind)}:
            return f"[{kind[:40]}]"
        case _:
            return ""


def _file_diff(block: Mapping[str, Any]) -> AgentFileDiff | None:
    match block:
        case {"type": "diff", "path": str(path), "newText": str(after)}:
            return AgentFileDiff(path, _str_or_none(block.get("oldText")), after)
        case _:
            return None


def _plan(update: Mapping[str, Any]) -> SessionUpdate | None:
    entries = update.get("entries")
    if not isinstance(entries, list):
        return None
    return PlanUpdate(
        tuple(
            PlanEntry(str(entry.get("content", "")), str(entry.get("status", "pending")))
            for entry in entries[:MAX_ITEMS]
            if isinstance(entry, dict)
        )
    )


def _usage(update: Mapping[str, Any]) -> SessionUpdate | None:
    cost = None
    match update.get("cost"):
        case {"amount": int() | float() as amount, "currency": "USD"}:
            cost = float(amount)
        case _:
            pass
    return AgentUsage(as_count(update.get("used")), as_count(update.get("size")), cost)


def _mode(update: Mapping[str, Any]) -> SessionUpdate | None:
    mode = update.get("currentModeId")
    return SettingChanged("mode", mode) if isinstance(mode, str) else None


def _options(update: Mapping[str, Any]) -> SessionUpdate | None:
    return SettingsListed(parse_settings(update))


def parse_settings(response: Mapping[str, Any]) -> tuple[ExternalAgentSetting, ...]:
    """Parse the settings in the response that opened a session. The session modes of older ACP become a setting."""
    options = response.get("configOptions")
    settings = list(filter(None, map(_setting, options[:MAX_ITEMS]))) if isinstance(options, list) else []
    modes = response.get("modes")
    if isinstance(modes, dict) and not any(setting.category == "mode" for setting in settings):
        values = _values(modes.get("availableModes"), "id")
        if values:
            settings.append(ExternalAgentSetting("mode", "Mode", "mode", str(modes.get("currentModeId", "")), values))
    return tuple(settings)


def _setting(option: object) -> ExternalAgentSetting | None:
    match option:
        case {"id": str(name), "type": "select", "currentValue": str(value), "options": list(options), **rest}:
            flat_options = [item for entry in options for item in _flatten_group(entry)]
            label = _str_or_none(rest.get("name")) or name
            category = _str_or_none(rest.get("category")) or ""
            return ExternalAgentSetting(
                id=name,
                name=label,
                category=category,
                value=value,
                options=_values(flat_options, "value"),
                is_config_option=True,
            )
        case _:
            return None


def _flatten_group(option: object) -> list[object]:
    match option:
        case {"options": list(inner)}:
            return inner
        case _:
            return [option]


def _values(options: object, key: str) -> tuple[ExternalAgentOption, ...]:
    return tuple(
        ExternalAgentOption(
            str(option[key]), str(option.get("name") or option[key]), str(option.get("description") or "")
        )
        for option in (options[:MAX_ITEMS] if isinstance(options, list) else ())
        if isinstance(option, dict) and key in option
    )


def as_count(value: object) -> int:
    """Return a count, or 0 if it is missing or malformed."""
    return max(0, int(value)) if isinstance(value, int | float) and abs(value) < 1e15 else 0


def _str_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


UPDATE_PARSERS: Mapping[str, Callable[[Mapping[str, Any]], SessionUpdate | None]] = MappingProxyType(
    {
        "agent_message_chunk": _message_chunk,
        "agent_thought_chunk": _message_chunk,
        "tool_call": parse_call,
        "tool_call_update": parse_call,
        "plan": _plan,
        "plan_update": _plan,
        "usage_update": _usage,
        "current_mode_update": _mode,
        "config_option_update": _options,
    }
)
