"""What a server says of its tools: kept as it was accepted, compared with what it says now, refused where unfit."""

import difflib
import json
import re
from collections.abc import Mapping
from typing import Any

from core.domain.visible import visible
from core.settings.schema import ServerTool

BETWEEN = "__"  # of a server and its tool; no tool of ours and no name of a server has it
NAME = re.compile(r"[A-Za-z0-9_-]{1,38}")  # with its server's it stays within the 64 signs that models take
DESCRIPTION = 4_000
SCHEMA = 32_000


def accepted(name: str, description: str, schema: Mapping[str, Any]) -> ServerTool:
    """A tool as it is kept: with everything in it that hides written out."""
    plain = json.dumps(schema, ensure_ascii=False, sort_keys=True)
    return ServerTool(name=name, description=visible(description), schema=visible(plain))


def unfit(tool: ServerTool) -> str:
    """Why no agent is offered it; empty where nothing is wrong. Other alphabets hold letters that look like ours."""
    if not NAME.fullmatch(tool.name) or BETWEEN in tool.name:
        return f"{visible(tool.name)[:80]!a} is no plain name"
    if len(tool.description) > DESCRIPTION or len(tool.schema) > SCHEMA:
        return "its description is too long"
    return ""


def difference(was: ServerTool | None, now: ServerTool | None) -> str:
    """What a server says differently of a tool than what was accepted; empty where it is the same."""
    before, after = (_lines(tool) for tool in (was, now))
    return "\n".join(difflib.unified_diff(before, after, "accepted", "now", lineterm="", n=1))


def _lines(tool: ServerTool | None) -> list[str]:
    if tool is None:
        return []
    schema = json.dumps(json.loads(tool.schema), indent=1, ensure_ascii=False)
    return [*tool.description.splitlines(), *schema.splitlines()]
