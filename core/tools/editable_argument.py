"""Converts the arguments of a tool call to text that the user can edit before allowing the call, and back."""

import json
from typing import Any

from core.domain.problems import Problem
from core.mcp.tool_definition import NAME_SEPARATOR

# The one argument of each tool that the user edits as plain text. All arguments of other tools are edited as JSON.
_TEXT_ARGUMENTS = {"run": "command", "write": "content", "edit": "new_string", "patch": "diff", "fetch": "url"}


def text_argument(tool: str) -> str:
    """Return the name of the argument of a tool that is edited as text; "" if all arguments are edited as JSON."""
    return _TEXT_ARGUMENTS.get(tool, "")


def editable_text(tool: str, arguments: str) -> str:
    """Return what the user edits: the command, the new text, or the arguments as indented JSON.

    `arguments` are those of a permission request.
    """
    values = _model_arguments(tool, arguments)
    name = text_argument(tool)
    return str(values.get(name, "")) if name else json.dumps(values, ensure_ascii=False, indent=2)


def edited_arguments(tool: str, arguments: str, text: str) -> str:
    """Return the arguments, as a model would send them, with the text as the user edited it.

    Return "" if nothing has changed. Raise Problem if the text cannot be used.
    """
    if not text.strip():
        raise Problem("The changed text is empty.", "", "Deny the request instead, or change it to something else.")
    before = _model_arguments(tool, arguments)
    name = text_argument(tool)
    after = before | {name: text} if name else _parse(text)
    return "" if after == before else json.dumps(after, ensure_ascii=False)


def _parse(text: str) -> dict[str, Any]:
    try:
        values = json.loads(text)
    except ValueError as error:
        raise Problem("The changed arguments are not valid JSON.", f"{error}.", "Correct them.") from None
    if not isinstance(values, dict):
        raise Problem("The changed arguments are not a JSON object.", "", 'Write them as {"name": value, …}.')
    return values


def _model_arguments(tool: str, arguments: str) -> dict[str, Any]:
    """Return the arguments as the model sent them. For an MCP tool, unwrap them from a permission request's form."""
    values = json.loads(arguments or "{}")
    wrapped = values.get("arguments") if NAME_SEPARATOR in tool else None
    return wrapped if isinstance(wrapped, dict) else values
