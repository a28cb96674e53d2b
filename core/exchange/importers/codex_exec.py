"""Imports the output of `codex exec --json`: the events of a thread as JSON Lines, without the prompt."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from core.exchange.importers.codex import add_usage
from core.exchange.importers.foreign_call import ForeignCall, plain_text
from core.exchange.importers.message_parts import arguments_json, dict_or_empty
from core.exchange.importers.record import OpenSession, TranscriptRecord, derive_key, parse_exit_code, read_lines
from core.exchange.importers.session_builder import SessionBuilder


class _CallType(NamedTuple):
    """A type of item that is a tool call. `arguments` are the fields of the item that hold the arguments."""

    tool: str
    arguments: tuple[str, ...]


CALL_TYPES = {
    "command_execution": _CallType("exec_command", ("command",)),
    "file_change": _CallType("apply_patch", ("changes",)),
    "mcp_tool_call": _CallType("mcp", ("server", "tool", "arguments")),
    "collab_tool_call": _CallType("spawn_agent", ("tool", "prompt")),
    "web_search": _CallType("web_search", ("query",)),
    "todo_list": _CallType("update_plan", ("items",)),
}
QUIET_EVENTS = frozenset({"thread.started", "turn.started", "item.started", "item.updated"})


@dataclass(slots=True)
class _TurnCount:
    turns: int = 0


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
            add_usage(data.get("usage"), builder)
            builder.complete_run()
        elif kind == "turn.failed":
            builder.fail_run(str(dict_or_empty(data.get("error")).get("message") or "an error"))
        elif kind == "error":
            builder.fail_run(str(data.get("message") or "an error"))
        elif kind == "item.completed" and isinstance(item, dict):
            return _add_item(item, builder)
        else:
            return kind in QUIET_EVENTS
        return True


def _add_item(item: dict[str, Any], builder: SessionBuilder) -> bool:
    kind = item.get("type")
    state = builder.state(_TurnCount)
    reply_id = f"t{state.turns}"
    if kind in ("agent_message", "plan"):
        builder.add_reply(str(item.get("text") or ""), reply_id=reply_id)
    elif kind == "reasoning":
        builder.add_reply(reply_id=reply_id, reasoning=str(item.get("text") or ""))
    elif kind in CALL_TYPES:
        _add_call(item, CALL_TYPES[str(kind)], reply_id, builder)
        state.turns += 1
    else:
        return False
    return True


def _add_call(item: dict[str, Any], call_type: _CallType, reply_id: str, builder: SessionBuilder) -> None:
    call_id = str(item.get("id") or "")
    arguments = {name: item[name] for name in call_type.arguments if name in item}
    builder.add_reply(reply_id=reply_id, calls=[ForeignCall(call_id, call_type.tool, arguments_json(arguments))])
    exit_code = parse_exit_code(item.get("exit_code"))
    failed = item.get("status") in ("failed", "declined") or bool(exit_code)
    builder.add_result(call_id, _output(item), failed=failed, exit_code=exit_code)


def _output(item: dict[str, Any]) -> str:
    error, result = item.get("error"), item.get("result")
    if isinstance(error, dict):
        return str(error.get("message") or "")
    if isinstance(result, dict):
        return plain_text(result.get("content"))
    return str(item.get("aggregated_output") or item.get("status") or "")
