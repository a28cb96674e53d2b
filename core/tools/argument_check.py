"""Checks the arguments of a call against the schema that was sent to the model, before the call is made."""

import json
from collections.abc import Iterable
from typing import Any

from core.domain.problems import Problem
from core.models.model import ToolSpec
from core.tools.catalogue import read_arguments
from core.tools.json_schema import is_usable, validation_errors
from core.tools.mcp_tools import McpCall, mcp_server_of

MAX_FAULTS = 5  # named in an error


def argument_fault(tool: ToolSpec, arguments: str) -> str:
    """Return, as a sentence for the model, why the JSON `arguments` do not fit the tool's schema; "" if they do."""
    try:
        read_arguments(tool.name, arguments, (tool.name,))
    except Problem as problem:
        return str(problem)
    faults = _mcp_faults(tool, json.loads(arguments)) if mcp_server_of(tool.name) else []
    return f"The arguments of {tool.name} are invalid: {'; '.join(faults)}." if faults else ""


def check_mcp_call(tools: Iterable[ToolSpec], name: str, call: McpCall) -> None:
    """Raise Problem if the arguments of a call of an MCP tool do not fit the schema that the user accepted."""
    tool = next((tool for tool in tools if tool.name == name), None)
    if tool and (faults := _mcp_faults(tool, dict(call.arguments))):
        raise Problem(f"The arguments of {name} are invalid.", f"{'; '.join(faults)}.", "Correct them and call again.")


def _mcp_faults(tool: ToolSpec, arguments: dict[str, Any]) -> list[str]:
    """Return what is wrong with the arguments; [] if the schema is unusable, because the server then checks them."""
    schema = dict(tool.parameters)
    return validation_errors(arguments, schema, "the object of arguments")[:MAX_FAULTS] if is_usable(schema) else []
