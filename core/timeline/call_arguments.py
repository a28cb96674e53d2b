"""Finds the arguments of a session's tool calls, so that two sessions can be compared."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

ARGUMENT_KINDS = ("replied", "permission_requested", "permission_decided")


def find_arguments(lines: Iterable[Mapping[str, Any]], is_compared: Callable[[str], bool]) -> dict[str, str]:
    """Return the arguments by call ID, from stored events as JSON, with the changes that the user made to them.

    The JSON is normalized: arguments that differ only in spacing or in the order of their names are equal.
    `is_compared` decides by the name of a tool whether its calls are included.
    """
    arguments: dict[str, str] = {}
    requests: dict[str, str] = {}  # the call ID of each permission request
    for line in lines:
        if line["kind"] == "replied":
            calls = (call for call in line.get("calls", ()) if is_compared(call["tool"]))
            arguments |= {call["id"]: _normalized(call.get("arguments", {})) for call in calls}
        elif line["kind"] == "permission_requested":
            requests[line["request"]["id"]] = line["request"]["call_id"]
        elif changed := line.get("arguments"):
            call = requests.get(line["request_id"], "")
            arguments |= {call: _normalized(changed)} if call in arguments else {}
    return arguments


def _normalized(text: Mapping[str, Any]) -> str:
    if text.get("blob"):
        return str(text["blob"])
    written = str(text.get("head", ""))
    try:
        return json.dumps(json.loads(written), sort_keys=True)
    except (ValueError, RecursionError):
        return written
