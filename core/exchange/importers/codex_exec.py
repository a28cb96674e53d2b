"""Imports the output of `codex exec --json`: the events of a thread as JSON Lines, without the prompt."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.exchange.importers.codex import add_usage
from core.exchange.importers.foreign_call import ForeignCall, plain_text
from core.exchange.importers.message_parts import arguments_json
from core.exchange.importers.record import OpenSession, TranscriptRecord, derive_key, read_lines
from core.exchange.importers.session_builder import SessionBuilder

# For each type of item that is a tool call: the name of the tool, and the fields that hold its arguments.
CALLS = {
    "command_execution": ("exec_command", ("command",)),
    "file_change": ("apply_patch", ("changes",)),
    "mcp_tool_call": ("mcp", ("server", "tool", "arguments")),
    "collab_tool_call": ("spawn_agent", ("tool", "prompt")),
    "web_search": ("web_search", ("query",)),
    "todo_list": ("update_plan", ("items",)),
}
QUIET_EVENTS = frozenset({"thread.started", "turn.started", "item.started", "item.updated"})


@dataclass(slots=True)
class _ReplyNumber:
    turn: int = 0


class CodexExecImporter:
    agent = "Codex"
    default_locations: tuple[str, ...] = ()

    def recognizes(self, path: Path, head: bytes) -> bool:
        return b'"thread.started"' in head and b'"thread_id"' in head

    def read_records(self, path: Path) -> Iterator[TranscriptRecord]:
        # The key is not the ID of the thread: that is the key of the same session's rollout file, whose records differ.
        yield from read_lines(path, derive_key(path))

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        data = record.value
        if not isinstance(data, dict):
            return False
        kind, item = data.get("type"), data.get("item")
        if kind == "turn.completed":
            _complete_turn(data.get("usage"), builder)
        elif kind == "turn.failed":
            error = data.get("error")
            builder.fail_run(str(error.get("message") if isinstance(error, dict) else "") or "an error")
        elif kind == "error":
            builder.fail_run(str(data.get("message") or "an error"))
        elif kind == "item.completed" and isinstance(item, dict):
            return _add_item(item, builder)
        else:
            return kind in QUIET_EVENTS
        return True


def _complete_turn(usage: Any, builder: SessionBuilder) -> None:
    add_usage(usage, builder)
    builder.complete_run()


def _add_item(item: dict[str, Any], builder: SessionBuilder) -> bool:
    kind, id = item.get("type"), str(item.get("id") or "")
    state = builder.state(_ReplyNumber)
    reply = f"t{state.turn}"
    if kind in ("agent_message", "plan"):
        builder.add_reply(str(item.get("text") or ""), id=reply)
        return True
    if kind == "reasoning":
        builder.add_reply(id=reply, reasoning=str(item.get("text") or ""))
        return True
    if kind not in CALLS:
        return False
    tool, names = CALLS[str(kind)]
    arguments = {name: item[name] for name in names if name in item}
    builder.add_reply(id=reply, calls=[ForeignCall(id, tool, arguments_json(arguments))])
    state.turn += 1
    code = item.get("exit_code")
    failed = item.get("status") in ("failed", "declined") or bool(code)
    builder.add_result(id, _output(item), failed=failed, exit_code=code if isinstance(code, int) else None)
    return True


def _output(item: dict[str, Any]) -> str:
    error, result = item.get("error"), item.get("result")
    if isinstance(error, dict):
        return str(error.get("message") or "")
    if isinstance(result, dict):
        return plain_text(result.get("content"))
    return str(item.get("aggregated_output") or item.get("status") or "")
