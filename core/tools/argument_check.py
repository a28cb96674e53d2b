"""Checks the arguments of a call against the schema that was sent to the model, before the call exists."""

import json

from core.domain.problems import Problem
from core.models.model import ToolSpec
from core.tools.catalogue import read_arguments
from core.tools.json_schema import schema_error, validation_errors
from core.tools.mcp_tools import mcp_server_of


def argument_fault(tool: ToolSpec, arguments: str) -> str:
    """Return why arguments, as JSON text, do not fit an offered tool, as a sentence for the model; "" if they do."""
    try:
        read_arguments(tool.name, arguments, (tool.name,))
    except Problem as problem:
        return str(problem)
    # The schema of an MCP tool is its server's: if it is not valid, checking is left to the server.
    if mcp_server_of(tool.name) and not schema_error(dict(tool.parameters)):
        wrong = validation_errors(json.loads(arguments), dict(tool.parameters), "the object of arguments")
        return f"The arguments of {tool.name} are invalid: {'; '.join(wrong[:5])}." if wrong else ""
    return ""
