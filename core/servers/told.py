"""What a server says of its tools: kept as it was accepted, compared with what it says now, refused where unfit."""

import difflib
import json
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from core.domain.visible import visible
from core.settings.schema import ServerTool

BETWEEN = "__"  # of a server and its tool; no tool of ours and no name of a server has it
NAME = re.compile(r"[A-Za-z0-9_-]{1,38}")  # with its server's it stays within the 64 signs that models take
DESCRIPTION = 4_000
SCHEMA = 32_000
AGAIN = " (again)"  # follows the name of a tool whose name another tool of its server has


def accepted(name: str, description: str, schema: Any) -> ServerTool:
    """A tool as it is kept: with everything in it that hides written out."""
    plain = json.dumps(_shown(schema), ensure_ascii=False, sort_keys=True)
    return ServerTool(name=name, description=visible(description), schema=plain)


def by_name(tools: Iterable[ServerTool]) -> dict[str, ServerTool]:
    """Each under its name. Of two that differ under one name the first is meant, and the other is kept to be told."""
    found: dict[str, ServerTool] = {}
    for tool in tools:
        name = tool.name if found.get(tool.name, tool) == tool else f"{tool.name}{AGAIN}"
        found.setdefault(name, replace(tool, name=name))
    return found


def _shown(node: Any) -> Any:
    """Each text by itself: in the whole, a sign that hides could take the signs around it along."""
    match node:
        case str():
            return visible(node)
        case list():
            return [_shown(item) for item in node]
        case dict():
            return {visible(str(key)): _shown(value) for key, value in node.items()}
        case _:
            return node


def unfit(tool: ServerTool) -> str:
    """Why no agent is offered it; empty where nothing is wrong. Other alphabets hold letters that look like ours."""
    if tool.name.endswith(AGAIN):
        return "another tool of its server has the same name"
    if not NAME.fullmatch(tool.name) or BETWEEN in tool.name:
        return f"{visible(tool.name)[:80]!a} is no plain name"
    if len(tool.description) > DESCRIPTION or len(tool.schema) > SCHEMA:
        return "its description is too long"
    return "" if _describes_arguments(tool.schema) else "its schema is not as the protocol has it"


def _describes_arguments(text: str) -> bool:
    """As far as models need it: an object, and what each part of it may be."""
    try:
        schema = json.loads(text)
    except ValueError:  # only where somebody wrote into the settings file
        return False
    parts = schema.get("properties", {}) if isinstance(schema, dict) else None
    return (
        isinstance(parts, dict)
        and schema.get("type", "object") == "object"
        and all(isinstance(part, dict | bool) for part in parts.values())
    )


def difference(was: ServerTool | None, now: ServerTool | None) -> str:
    """What a server says differently of a tool than what was accepted; empty where it is the same."""
    before, after = (_lines(tool) for tool in (was, now))
    return "\n".join(difflib.unified_diff(before, after, "accepted", "now", lineterm="", n=1))


def _lines(tool: ServerTool | None) -> list[str]:
    if tool is None:
        return []
    schema = json.dumps(json.loads(tool.schema), indent=1, ensure_ascii=False)
    return [*tool.description.splitlines(), *schema.splitlines()]
