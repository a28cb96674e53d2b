"""Corrects names in tool calls, because models use tool and parameter names of the agents they were trained with.

A name is replaced only if it can mean exactly one offered tool, or one missing parameter of the tool.
"""

import json
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from core.models.lenient_json import unique_members
from core.models.model import RequestedCall, ToolSpec

TOOL_NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "read": ("readfile", "openfile", "viewfile", "catfile", "view", "cat"),
        "write": ("writefile", "createfile", "savefile", "writetofile", "newfile"),
        "edit": ("editfile", "strreplace", "replaceinfile", "replacetext", "searchreplace"),
        "run": ("bash", "shell", "sh", "execute", "executecommand", "runcommand", "runshellcommand", "terminal",
                "shellcommand", "bashcommand", "exec"),
        "ask_user": ("ask", "askquestion", "askfollowupquestion"),
    }
)  # fmt: skip
PARAMETER_NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "path": ("file", "filepath", "filename", "targetfile", "absolutepath"),
        "content": ("contents", "text", "filetext", "filecontent", "data", "body"),
        "command": ("cmd", "script", "shellcommand", "bash", "code"),
        "old_string": ("oldstr", "oldtext", "old", "search", "find", "searchtext"),
        "new_string": ("newstr", "newtext", "new", "replace", "replacement", "replacewith"),
        "question": ("prompt", "message", "text", "query"),
        "start": ("startline", "fromline", "linestart", "offset"),
        "end": ("endline", "toline", "lineend"),
    }
)


def near_tool(name: str, tools: Sequence[ToolSpec]) -> ToolSpec | None:
    """Return the offered tool with this name, or else the only offered tool for which models use this name."""
    for tool in tools:
        if tool.name == name:
            return tool
    plain = _plain(name)
    found = [tool for tool in tools if plain == _plain(tool.name) or plain in TOOL_NAMES.get(tool.name, ())]
    return found[0] if len(found) == 1 else None


def near_arguments(arguments: Mapping[str, Any], tool: ToolSpec) -> dict[str, Any]:
    """Return the arguments with wrong parameter names replaced by those of the tool, where only one fits."""
    properties = tool.parameters.get("properties", {})
    targets = {name: _target(name, properties) for name in arguments if name not in properties}
    renamed = {}
    for name, value in arguments.items():
        target = targets.get(name)
        is_clear = target and target not in arguments and list(targets.values()).count(target) == 1
        renamed[target if target and is_clear else name] = value
    return renamed


def near_call(call: RequestedCall, tools: Sequence[ToolSpec]) -> RequestedCall:
    """Return a call with corrected names, or the same call if no name is wrong or can be corrected."""
    tool = near_tool(call.tool, tools)
    if tool is None:
        return call
    try:
        arguments = json.loads(call.arguments or "{}", object_pairs_hook=unique_members)
    except (ValueError, RecursionError):
        arguments = None  # the model receives the error later, when the arguments are validated
    if not isinstance(arguments, dict):
        return call if tool.name == call.tool else RequestedCall(tool.name, call.arguments)
    corrected = near_arguments(arguments, tool)
    if corrected == arguments:
        return call if tool.name == call.tool else RequestedCall(tool.name, call.arguments)
    return RequestedCall(tool.name, json.dumps(corrected, ensure_ascii=False))


def correction_note(calls: Sequence[RequestedCall], corrected: Sequence[RequestedCall]) -> str:
    """Return a note for the user on which names were corrected; "" if none were."""
    changed = [(old, new) for old, new in zip(calls, corrected, strict=True) if old != new]
    names = dict.fromkeys(
        f"{old.tool} as {new.tool}" if old.tool != new.tool else f"the parameters of {new.tool}" for old, new in changed
    )
    return f"Names in the calls were corrected: {', '.join(names)}." if names else ""


def _target(name: str, properties: Mapping[str, Any]) -> str:
    plain = _plain(name)
    found = [each for each in properties if plain == _plain(each) or plain in PARAMETER_NAMES.get(each, ())]
    return found[0] if len(found) == 1 else ""


def _plain(name: str) -> str:
    """Return a name in lowercase, without namespace and separators."""
    return re.sub(r"[^a-z0-9]", "", re.split(r"[.:/]", name)[-1].lower())
