"""Former names of tools, parameters and values, which the events of existing sessions still contain."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

TOOLS: Mapping[str, str] = MappingProxyType({"report_problem": "report_issue"})
# Former → current parameter names, by tool and by the argument that contains them ("" for the top level).
PARAMETERS: Mapping[tuple[str, str], Mapping[str, str]] = MappingProxyType(
    {
        ("edit", ""): {"old": "old_string", "new": "new_string"},
        ("manage_skill", ""): {"old": "old_string", "new": "new_string"},
        ("ask_user", ""): {"several": "multi_select"},
        ("ask_user", "questions"): {"several": "multi_select"},
        ("delegate", "limits"): {"rounds": "turns"},
    }
)
VALUES: Mapping[tuple[str, str, str], Mapping[str, str]] = MappingProxyType(
    {
        ("todo", "items", "status"): {"open": "pending", "doing": "in_progress", "done": "completed"},
        ("recall_dropped", "", "id"): {"talk": "conversation"},
    }
)


def current_tool(name: str) -> str:
    """Return the current name of a tool, given its current or a former name."""
    return TOOLS.get(name, name)


def current_arguments(tool: str, arguments: Any) -> Any:
    """Return the decoded arguments of a call with every former name replaced; anything else stays as it is.

    If an object has both the former and the current name, the former is kept, so that validation rejects the call.
    """
    if not isinstance(arguments, dict):
        return arguments
    renamed = _renamed(current_tool(tool), "", arguments)
    return {name: _inner(current_tool(tool), name, value) for name, value in renamed.items()}


def _inner(tool: str, name: str, value: Any) -> Any:
    if isinstance(value, list):
        return [_renamed(tool, name, item) if isinstance(item, dict) else item for item in value]
    return _renamed(tool, name, value) if isinstance(value, dict) else value


def _renamed(tool: str, holder: str, arguments: dict[str, Any]) -> dict[str, Any]:
    names = PARAMETERS.get((tool, holder), {})
    renamed: dict[str, Any] = {}
    for former, value in arguments.items():
        name = names.get(former, former)
        name = former if name in arguments else name
        values = VALUES.get((tool, holder, name), {})
        renamed[name] = values.get(value, value) if isinstance(value, str) else value
    return renamed
