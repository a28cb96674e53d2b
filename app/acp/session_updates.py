"""Converts the events of a session to updates of the Agent Client Protocol (ACP)."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from core.domain.event_values import ToolCall
from core.domain.events import (
    CallRefused,
    CallStarted,
    FileChanged,
    Replied,
    SessionEvent,
    ToolReturned,
    Usage,
    UserMessage,
)
from core.domain.steps import verb
from core.domain.text import Text
from core.tools.former_names import current_arguments

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "read": "read",
        "write": "edit",
        "edit": "edit",
        "find": "search",
        "search": "search",
        "command": "execute",
        "check_command": "execute",
        "fetch": "fetch",
        "search_web": "fetch",
        "todo": "think",
        "decision": "think",
    }
)
TODO_STATUSES = ("completed", "in_progress", "pending")
MAX_RESULT_CHARS = 100_000  # longest tool result that is sent to the editor, in characters
Update = dict[str, Any]


class SessionUpdates:
    """Builds the updates of one session. `read_text` returns a Text in full; `read_blob` returns a blob by its hash."""

    def __init__(self, folder: Path, read_text: Callable[[Text], str], read_blob: Callable[[str], bytes]) -> None:
        self._folder = folder
        self._read_text = read_text
        self._read_blob = read_blob
        self._arguments: dict[str, Any] = {}  # the parsed arguments of each tool call, by call ID
        self._diffs: dict[str, list[Update]] = {}  # the file changes of each call in progress, by call ID
        self.usage = Usage()

    def updates_for(self, event: SessionEvent, *, streamed: bool = False, replayed: bool = False) -> list[Update]:
        """Return the ACP updates that show an event in the editor.

        With `streamed`, the text of a reply is left out, because it was already sent while it arrived. With `replayed`,
        the user's messages are included: an editor that loads an existing session does not have them.
        """
        match event:
            case UserMessage(text=text) if replayed:
                return [text_chunk("user_message_chunk", self._read_text(text))]
            case Replied():
                return self._reply(event, streamed)
            case CallStarted():
                return self._call_started(event)
            case FileChanged(call_id=name) if name:
                return self._file_changed(event)
            case ToolReturned(call_id=name, output=output, failed=failed):
                return [self._call_ended(name, self._read_text(output), failed)]
            case CallRefused(call_id=name, tool=tool, reason=reason):
                call = {"toolCallId": name, "title": tool, "kind": "other", "status": "pending"}
                return [{"sessionUpdate": "tool_call", **call}, self._call_ended(name, self._read_text(reason), True)]
            case _:
                return []

    def arguments(self, call: str) -> Any:
        """Return the arguments of a call as parsed JSON; None for an unknown call."""
        return self._arguments.get(call)

    def _reply(self, reply: Replied, streamed: bool) -> list[Update]:
        total, usage = self.usage, reply.usage
        self.usage = Usage(
            input=total.input + usage.input,
            output=total.output + usage.output,
            cache_read=total.cache_read + usage.cache_read,
        )
        updates = []
        if not streamed and reply.reasoning.head:
            updates.append(text_chunk("agent_thought_chunk", self._read_text(reply.reasoning)))
        if not streamed and reply.text.head:
            updates.append(text_chunk("agent_message_chunk", self._read_text(reply.text)))
        for call in reply.calls:
            arguments = self._parse_arguments(call)
            self._arguments[call.id] = arguments
            if call.tool == "todo" and (plan := _plan(arguments)):
                updates.append(plan)
        return updates

    def _parse_arguments(self, call: ToolCall) -> Any:
        """Return the arguments of a call under their current names; None if they are not valid JSON."""
        try:
            return current_arguments(call.tool, json.loads(self._read_text(call.arguments) or "{}"))
        except ValueError:
            return None

    def _call_started(self, started: CallStarted) -> list[Update]:
        arguments = self._arguments.get(started.call_id)
        path = arguments.get("path") if isinstance(arguments, dict) else None
        locations = [{"path": str(self._folder / path)}] if isinstance(path, str) else []
        call = {
            "toolCallId": started.call_id,
            "title": f"{verb(started.step_kind, 'running')} {started.object}".strip(),
            "kind": KINDS.get(started.step_kind, "other"),
            "status": "in_progress",
            "locations": locations,
            "rawInput": arguments,
        }
        return [{"sessionUpdate": "tool_call", **call}]

    def _file_changed(self, changed: FileChanged) -> list[Update]:
        try:
            before = self._read_blob(changed.before).decode() if changed.before else None
            after = self._read_blob(changed.after).decode() if changed.after else ""
        except UnicodeDecodeError:
            return []
        block = {"type": "diff", "path": str(self._folder / changed.path), "oldText": before, "newText": after}
        self._diffs.setdefault(changed.call_id, []).append(block)
        return []

    def _call_ended(self, call: str, output: str, failed: bool) -> Update:
        content = self._diffs.pop(call, [])
        if len(output) > MAX_RESULT_CHARS:
            output = f"{output[:MAX_RESULT_CHARS]}\n[truncated: the result is longer]"
        if output:
            content.append({"type": "content", "content": {"type": "text", "text": output}})
        status = "failed" if failed else "completed"
        return {"sessionUpdate": "tool_call_update", "toolCallId": call, "status": status, "content": content}


def text_chunk(kind: str, text: str) -> Update:
    """Return an update of this ACP kind, such as `agent_message_chunk`, that appends a piece of text."""
    return {"sessionUpdate": kind, "content": {"type": "text", "text": text}}


def _plan(arguments: Any) -> Update | None:
    """Return the agent's to-do list as an ACP plan; None if the arguments are invalid."""
    match arguments:
        case {"items": list(items)}:
            entries = [_entry(item) for item in items if isinstance(item, dict)]
            return {"sessionUpdate": "plan", "entries": entries}
        case _:
            return None


def _entry(item: dict[str, Any]) -> Update:
    status = item.get("status")
    if status not in TODO_STATUSES:
        status = "pending"
    return {"content": str(item.get("text", "")), "priority": "medium", "status": status}
