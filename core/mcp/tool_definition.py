"""Validates tool definitions of MCP servers, and compares the current ones with those that the user accepted."""

import difflib
import json
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from core.domain.line_matching import is_quickly_matched
from core.domain.visible import visible
from core.settings.schema import McpToolSettings

NAME_SEPARATOR = "__"  # separates server and tool name; no built-in tool and no server name contains it
TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,38}")  # with the server name at most 64 characters, the limit of model APIs
MAX_DESCRIPTION = 4_000
MAX_SCHEMA = 32_000
# Appended to the name of a tool that equals, or looks like, the name of an earlier tool of the same server.
DUPLICATE_SUFFIX, LOOKALIKE_SUFFIX = " (again)", " (alike)"
_ALIKE = str.maketrans("10-", "lo_")


def stored_definition(name: str, description: str, schema: Any) -> McpToolSettings:
    """Return a tool definition for storage, with all invisible characters escaped."""
    plain = json.dumps(_escape_strings(schema), ensure_ascii=False, sort_keys=True)
    return McpToolSettings(name=name, description=visible(description), input_schema=plain)


def tools_by_name(tools: Iterable[McpToolSettings]) -> dict[str, McpToolSettings]:
    """Return tools by name.

    If different tools share a name, or have names that look the same, all but the first get a suffix and are thus
    rejected.
    """
    by_name: dict[str, McpToolSettings] = {}
    by_look: dict[str, str] = {}
    for tool in tools:
        name = tool.name if by_name.get(tool.name, tool) == tool else f"{tool.name}{DUPLICATE_SUFFIX}"
        if by_look.setdefault(_look(tool.name), tool.name) != tool.name:
            name = f"{tool.name}{LOOKALIKE_SUFFIX}"
        by_name.setdefault(name, replace(tool, name=name))
    return by_name


def _look(name: str) -> str:
    """Return a form of the name that is equal for names that look alike, such as `send_emaiI` and `send_email`."""
    return name.replace("I", "l").casefold().translate(_ALIKE).replace("rn", "m").replace("vv", "w")


def _escape_strings(node: Any) -> Any:
    """Escape invisible characters in all strings of a JSON value. Escaping the JSON text could break its syntax."""
    match node:
        case str():
            return visible(node)
        case list():
            return [_escape_strings(item) for item in node]
        case dict():
            return {visible(str(key)): _escape_strings(value) for key, value in node.items()}
        case _:
            return node


def tool_rejection(tool: McpToolSettings) -> str:
    """Return why a tool is not offered to agents; empty if it is valid. Names are ASCII only, as other alphabets
    contain lookalike letters.
    """
    if tool.name.endswith(DUPLICATE_SUFFIX):
        return "another tool of this server has the same name"
    if tool.name.endswith(LOOKALIKE_SUFFIX):
        return "its name looks like that of another tool of this server"
    if not TOOL_NAME.fullmatch(tool.name) or NAME_SEPARATOR in tool.name:
        return f"{visible(tool.name)[:80]!a} is not a valid name"
    if len(tool.description) > MAX_DESCRIPTION or len(tool.input_schema) > MAX_SCHEMA:
        return "its description is too long"
    return "" if _describes_arguments(tool.input_schema) else "its schema violates the protocol"


def _describes_arguments(text: str) -> bool:
    """Return whether a JSON Schema, as text, describes an object with properties, as model APIs require."""
    try:
        schema = json.loads(text)
    except ValueError:  # The settings file was edited by hand.
        return False
    parts = schema.get("properties", {}) if isinstance(schema, dict) else None
    return (
        isinstance(parts, dict)
        and schema.get("type", "object") == "object"
        and all(isinstance(part, dict | bool) for part in parts.values())
    )


def diff_tools(accepted: McpToolSettings | None, current: McpToolSettings | None) -> str:
    """Return the diff between the accepted and the current definition of a tool; empty if they are the same."""
    before, after = (_lines(tool) for tool in (accepted, current))
    if not is_quickly_matched(before, after):  # A server could choose texts for which the diff takes very long.
        return "\n".join([*(f"-{line}" for line in before), *(f"+{line}" for line in after)])
    return "\n".join(difflib.unified_diff(before, after, "accepted", "now", lineterm="", n=1))


def _lines(tool: McpToolSettings | None) -> list[str]:
    if tool is None:
        return []
    schema = json.dumps(json.loads(tool.input_schema), indent=1, ensure_ascii=False)
    return [*tool.description.splitlines(), *schema.splitlines()]
