"""What an agent tells of its work, read from the wire: what is missing is left out, what is strange is None."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from core.domain.agents import AgentOption, AgentSetting

STATES = frozenset({"pending", "in_progress", "completed", "failed"})
MOST = 100  # of choices, places, options: nobody reads more


@dataclass(frozen=True, slots=True)
class Words:
    """A piece of a message, or of a thought."""

    text: str
    thought: bool = False


@dataclass(frozen=True, slots=True)
class Difference:
    """A file before and after, as the agent says; `before` is None where there was none."""

    path: str
    before: str | None
    after: str


@dataclass(frozen=True, slots=True)
class CallTold:
    """What is new of a call; None is as before."""

    id: str
    title: str | None = None
    kind: str | None = None
    status: str | None = None
    text: str | None = None
    differences: tuple[Difference, ...] | None = None
    terminals: tuple[str, ...] | None = None
    paths: tuple[str, ...] | None = None
    input: Any = None
    output: Any = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What it means to do: words, and pending, in_progress or completed."""

    entries: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Used:
    """Of its context, and what the session has cost so far in US dollars; None is unknown."""

    used: int
    size: int
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Turned:
    """One of its settings has another value."""

    setting: str
    value: str


@dataclass(frozen=True, slots=True)
class SettingsTold:
    settings: tuple[AgentSetting, ...]


@dataclass(frozen=True, slots=True)
class Aside:
    """Of no matter for what a person sees."""


Told = Words | CallTold | Plan | Used | Turned | SettingsTold | Aside
ASIDE = frozenset({"user_message_chunk", "available_commands_update", "session_info_update", "plan_removed"})


def read_update(update: Mapping[str, Any]) -> Told | None:
    """None for what is not understood."""
    name = update.get("sessionUpdate")
    reader = READERS.get(name) if isinstance(name, str) else None
    if reader is None:
        return Aside() if name in ASIDE else None
    return reader(update)


def _words(update: Mapping[str, Any]) -> Told | None:
    return Words(block_text(update.get("content")), update.get("sessionUpdate") == "agent_thought_chunk")


def read_call(update: Mapping[str, Any]) -> CallTold | None:
    """A call, or what is new of one."""
    if not isinstance(name := update.get("toolCallId"), str):
        return None
    content, locations = update.get("content"), update.get("locations")
    status = _str(update.get("status"))
    told = CallTold(
        name,
        _str(update.get("title")),
        _str(update.get("kind")),
        status if status in STATES else None,
        paths=_paths(locations) if isinstance(locations, list) else None,
        input=update.get("rawInput"),
        output=update.get("rawOutput"),
    )
    return _with_content(told, content) if isinstance(content, list) else told


def _paths(locations: list[Any]) -> tuple[str, ...]:
    return tuple(str(one["path"]) for one in locations[:MOST] if isinstance(one, dict) and "path" in one)


def _with_content(told: CallTold, content: list[Any]) -> CallTold:
    blocks = [one for one in content[:MOST] if isinstance(one, dict)]
    return replace(
        told,
        text="\n".join(block_text(one.get("content")) for one in blocks if one.get("type") == "content"),
        differences=tuple(filter(None, map(_difference, blocks))),
        terminals=tuple(str(one.get("terminalId")) for one in blocks if one.get("type") == "terminal"),
    )


def block_text(block: object) -> str:
    """A block of content as words; what cannot be shown is named."""
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "resource_link", "uri": uri, **rest}:
            return f"[{rest.get('name') or uri}: {uri}]"
        case {"type": "resource", "resource": {"uri": uri, "text": str(text)}}:
            return f"{uri}\n{text}"
        case {"type": "resource", "resource": {"uri": uri}}:
            return f"[{uri}: a file that is no text]"
        case {"type": str(form)}:
            return f"[{form[:40]}]"
        case _:
            return ""


def _difference(block: Mapping[str, Any]) -> Difference | None:
    match block:
        case {"type": "diff", "path": str(path), "newText": str(after)}:
            return Difference(path, _str(block.get("oldText")), after)
        case _:
            return None


def _plan(update: Mapping[str, Any]) -> Told | None:
    entries = update.get("entries")
    if not isinstance(entries, list):
        return None
    return Plan(
        tuple(
            (str(one.get("content", "")), str(one.get("status", "pending")))
            for one in entries[:MOST]
            if isinstance(one, dict)
        )
    )


def _used(update: Mapping[str, Any]) -> Told | None:
    used, size, cost = update.get("used"), update.get("size"), None
    match update.get("cost"):
        case {"amount": int() | float() as amount, "currency": "USD"}:
            cost = float(amount)
        case _:
            pass
    return Used(number(used), number(size), cost)


def _mode(update: Mapping[str, Any]) -> Told | None:
    mode = update.get("currentModeId")
    return Turned("mode", mode) if isinstance(mode, str) else None


def _options(update: Mapping[str, Any]) -> Told | None:
    return SettingsTold(read_settings(update))


def read_settings(told: Mapping[str, Any]) -> tuple[AgentSetting, ...]:
    """What can be set in a session, of its answer to being opened; modes of the older form are one of them."""
    options = told.get("configOptions")
    found = list(filter(None, map(_setting, options[:MOST]))) if isinstance(options, list) else []
    modes = told.get("modes")
    if isinstance(modes, dict) and not any(one.category == "mode" for one in found):
        values = _values(modes.get("availableModes"), "id")
        if values:
            found.append(AgentSetting("mode", "Mode", "mode", str(modes.get("currentModeId", "")), values))
    return tuple(found)


def _setting(one: object) -> AgentSetting | None:
    match one:
        case {"id": str(name), "type": "select", "currentValue": str(value), "options": list(options), **rest}:
            flat = [inner for each in options for inner in _grouped(each)]
            title, category = _str(rest.get("name")) or name, _str(rest.get("category")) or ""
            return AgentSetting(name, title, category, value, _values(flat, "value"), True)
        case _:
            return None


def _grouped(option: object) -> list[object]:
    match option:
        case {"options": list(inner)}:
            return inner
        case _:
            return [option]


def _values(options: object, key: str) -> tuple[AgentOption, ...]:
    return tuple(
        AgentOption(str(one[key]), str(one.get("name") or one[key]), str(one.get("description") or ""))
        for one in (options[:MOST] if isinstance(options, list) else ())
        if isinstance(one, dict) and key in one
    )


def number(value: object) -> int:
    """A count that may be missing or strange."""
    return max(0, int(value)) if isinstance(value, int | float) and abs(value) < 1e15 else 0


def _str(value: object) -> str | None:
    return value if isinstance(value, str) else None


READERS: Mapping[str, Callable[[Mapping[str, Any]], Told | None]] = MappingProxyType(
    {
        "agent_message_chunk": _words,
        "agent_thought_chunk": _words,
        "tool_call": read_call,
        "tool_call_update": read_call,
        "plan": _plan,
        "plan_update": _plan,
        "usage_update": _used,
        "current_mode_update": _mode,
        "config_option_update": _options,
    }
)
