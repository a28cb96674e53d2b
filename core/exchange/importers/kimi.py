"""Imports sessions of Kimi CLI and of its successor Kimi Code: a JSON Lines file for each agent of a session."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.domain.events import Usage
from core.exchange.importers.followable import AppendedLines, ReadNewRecords, details_first
from core.exchange.importers.foreign_call import ForeignCall, plain_text
from core.exchange.importers.message_parts import arguments_json, chat_calls, dict_or_empty, dicts, embedded_images
from core.exchange.importers.record import (
    OpenSession,
    SessionDetails,
    SessionFiles,
    TranscriptRecord,
    derive_key,
    details_record,
    head_records,
    parse_count,
    parse_time,
    plain_path,
    read_json_object,
    read_lines,
)
from core.exchange.importers.session_builder import SessionBuilder, SubagentCall

CONTEXT_FILE = "context.jsonl"
MAIN_AGENT = "main"  # the folder of the agent that the user talks to; other folders belong to sub-agents
# Types of records that only repeat others, or that Kimi only needs to continue the session.
WITHOUT_CONTENT = frozenset(
    {
        "HookResolved",
        "HookTriggered",
        "MCPLoadingBegin",
        "MCPLoadingEnd",
        "StepRetry",
        "CompactionBegin",
        "agent.message.appended",
        "agent.turn.ended",
        "agent.turn.started",
        "context.update_token_count",
        "full_compaction.begin",
        "full_compaction.complete",
        "llm.request",
        "llm.tools_snapshot",
        "mcp.tools_discovered",
        "permission.set_mode",
        "plugin.session_start",
        "prompt.accepted",
        "prompt.completed",
        "runtime.set_binding",
        "token_counting.measured",
        "token_counting.turn_recorded",
        "tools.set_active_tools",
    }
)


@dataclass(slots=True)
class _RunState:
    """The state of the conversion between two records.

    Attributes:
        step: The number of Kimi CLI's current step, which is one reply with its tool calls.
        prompt: The last input of the user in Kimi Code, which stores it a second time as a part of the context.
        open_subagents: The session keys of Kimi CLI's running sub-agents, by the ID of the call that started each.
    """

    step: int = 0
    prompt: str | None = None
    open_subagents: dict[str, str] = field(default_factory=dict)


class KimiImporter:
    """Converts the messages that Kimi CLI sends to its user interface, and the records of Kimi Code.

    Old versions of Kimi CLI only store the messages to and from the model, in a file named context.jsonl.
    """

    agent = "Kimi"
    default_locations: tuple[str, ...] = (
        ".kimi/sessions/*/*/wire.jsonl",
        ".kimi-code/sessions/*/*/agents/main/wire.jsonl",
    )

    def recognizes(self, path: Path, head: bytes) -> bool:
        first = next(head_records(head), {})
        if first.get("type") == "metadata":
            return "protocol_version" in first
        return plain_path(path).name == CONTEXT_FILE and "role" in first

    def read_records(self, path: Path) -> Iterator[TranscriptRecord]:
        yield from self._details(path)
        size = 0
        for file, key in self._files(path):
            yield from read_lines(file, key, size)
            size += file.stat().st_size

    def follow(self, path: Path) -> ReadNewRecords:
        return details_first(self._details(path), AppendedLines(lambda: self._files(path)))

    def _files(self, path: Path) -> SessionFiles:
        """Return the files to read with the key of the session in each: the given file, and those of its sub-agents."""
        if path.parent.parent.name != "agents":
            name = plain_path(path).stem
            return [(path, path.parent.name if name == "wire" else derive_key(path, path.parent.name))]
        session = path.parents[2].name
        if path.parent.name != MAIN_AGENT:
            return [(path, f"{session}/{path.parent.name}")]
        subagent_files = (file for file in sorted(path.parents[1].glob("*/wire.jsonl")) if file != path)
        return [(path, session), *((file, f"{session}/{file.parent.name}") for file in subagent_files)]

    def _details(self, path: Path) -> Iterator[TranscriptRecord]:
        """Yield a record with the folder and title of the session, which Kimi stores in separate files."""
        _, key = self._files(path)[0]
        if path.parent.parent.name == "agents":
            details = read_json_object(path.parents[2] / "state.json")
            folder = details.get("cwd") or details.get("workDir")
        else:
            details = read_json_object(path.with_name("state.json"))
            folder = _work_dir(path)
        title = details.get("custom_title") or (details.get("title") if details.get("isCustomTitle") else "")
        yield details_record(key, {"folder": str(folder or ""), "title": str(title or "")})

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        data = record.value
        if isinstance(data, SessionDetails):
            builder.set_details(**data.values)
            return True
        if not isinstance(data, dict):
            return False
        if isinstance(message := data.get("message"), dict) and "payload" in message:
            return _add_message(message, parse_time(data.get("timestamp")), builder, open_session)
        if "role" in data:
            return _add_context_message(data, builder)
        if "/" in builder.key and not builder.has_events():
            _set_parent(builder)
        return _add_record(data, parse_time(data.get("time")), builder)


def _work_dir(path: Path) -> str:
    """Return the folder that a session of Kimi CLI worked in; empty if unknown.

    The session is stored in a folder named after the MD5 hash of the path to find, which kimi.json lists.
    """
    if len(path.parents) < 4:
        return ""
    folders = read_json_object(path.parents[3] / "kimi.json").get("work_dirs")
    for folder in dicts(folders):
        name = str(folder.get("path"))
        if hashlib.md5(name.encode(), usedforsecurity=False).hexdigest() == path.parents[1].name:
            return name
    return ""


def _set_parent(builder: SessionBuilder) -> None:
    builder.set_parent(builder.key.partition("/")[0])


# Kimi CLI


def _add_message(message: dict[str, Any], at: int, builder: SessionBuilder, open_session: OpenSession) -> bool:
    """Convert a message that Kimi CLI sent to its user interface. Return whether it was understood."""
    payload = dict_or_empty(message.get("payload"))
    kind = str(message.get("type"))
    state = builder.state(_RunState)
    step_id = f"s{state.step}"
    match kind:
        case "TurnBegin" | "SteerInput":
            _add_input(payload.get("user_input"), at, builder)
        case "StepBegin":
            builder.complete_reply()
            state.step += 1
            builder.latest = max(builder.latest, at)
        case "ContentPart":
            return _add_part(payload, at, step_id, builder)
        case "ToolCall":
            function = dict_or_empty(payload.get("function"))
            call = _parse_call(payload.get("id"), function.get("name"), function.get("arguments"))
            builder.add_reply(at=at, reply_id=step_id, calls=[call])
        case "ToolResult":
            value = dict_or_empty(payload.get("return_value"))
            _add_result(payload.get("tool_call_id"), value, value.get("is_error") is True, at, builder)
        case "StatusUpdate":
            builder.add_usage(_parse_usage(payload.get("token_usage")))
        case "CompactionEnd":
            builder.add_compaction("compacted by Kimi", at=at)
        case "StepInterrupted":
            builder.stop_run("interrupted", at)
        case "TurnEnd":
            builder.complete_run(at=at)
        case "SubagentEvent":
            return _add_subagent_event(payload, at, builder, open_session)
        case _:
            return kind in WITHOUT_CONTENT
    return True


def _add_subagent_event(payload: dict[str, Any], at: int, main: SessionBuilder, open_session: OpenSession) -> bool:
    """Convert a message of a sub-agent. The first one creates the sub-agent's session."""
    call_id = str(payload.get("parent_tool_call_id") or payload.get("task_tool_call_id") or "")
    key = f"{main.key}/{payload.get('agent_id') or call_id}"
    child = open_session(key)
    if not child.has_events():
        subagent = str(payload.get("subagent_type") or "agent")
        child.set_parent(main.key, SubagentCall(main.imported_call_id(call_id), subagent))
        main.start_subagent(call_id, key, subagent)
        main.state(_RunState).open_subagents[call_id] = key
    event = payload.get("event")
    return isinstance(event, dict) and _add_message(event, at, child, open_session)


def _add_context_message(message: dict[str, Any], builder: SessionBuilder) -> bool:
    """Convert a message to or from the model. A role that begins with an underscore marks an internal record."""
    content = message.get("content")
    role = str(message["role"])
    match role:
        case "user":
            _add_input(content, 0, builder)
        case "assistant":
            parts = dicts(content)
            reasoning = "\n".join(str(part["think"]) for part in parts if part.get("think"))
            builder.add_reply(plain_text(content), reasoning=reasoning, calls=chat_calls(message.get("tool_calls")))
            builder.complete_reply()
        case "tool":
            builder.add_result(str(message.get("tool_call_id") or ""), plain_text(content))
        case _:
            return role.startswith("_")
    return True


# Kimi Code


def _add_record(data: dict[str, Any], at: int, builder: SessionBuilder) -> bool:
    kind = str(data.get("type"))
    state = builder.state(_RunState)
    match kind:
        case "metadata":
            builder.latest = max(builder.latest, parse_time(data.get("created_at")))
        case "turn.prompt" | "turn.steer":
            state.prompt = plain_text(data.get("input"))
            _add_input(data.get("input"), at, builder)
            return bool(state.prompt)
        case "context.append_message":
            message = dict_or_empty(data.get("message"))
            return message.get("role") == "user" and plain_text(message.get("content")) == state.prompt
        case "context.append_loop_event":
            return _add_loop_event(dict_or_empty(data.get("event")), at, builder)
        case "config.update" | "profile.bind":
            builder.set_details(model=str(data.get("modelAlias") or ""))
        case "usage.record":
            builder.set_details(model=str(data.get("model") or ""))
            builder.add_usage(_parse_usage(data.get("usage")))
        case "context.apply_compaction":
            summary = data.get("summary")
            text = summary if isinstance(summary, str) else plain_text(dict_or_empty(summary).get("content"))
            builder.add_compaction("compacted by Kimi", text, at=at)
        case "turn.cancel":
            builder.stop_run("interrupted by the user", at)
        case "turn.ended" if data.get("reason") == "completed":
            builder.complete_run(at=at)
        case "turn.ended":
            builder.stop_run(str(data.get("reason") or "interrupted"), at)
        case _:
            return kind in WITHOUT_CONTENT
    return True


def _add_loop_event(event: dict[str, Any], at: int, builder: SessionBuilder) -> bool:
    step_id = str(event.get("stepUuid") or event.get("uuid") or "")
    match event.get("type"):
        case "step.begin" | "step.end":
            builder.latest = max(builder.latest, at)
        case "content.part":
            return _add_part(dict_or_empty(event.get("part")), at, step_id, builder)
        case "tool.call":
            call = _parse_call(event.get("toolCallId"), event.get("name"), event.get("args"))
            builder.add_reply(at=at, reply_id=step_id, calls=[call])
        case "tool.result":
            result = dict_or_empty(event.get("result"))
            _add_result(event.get("toolCallId"), result, result.get("isError") is True, at, builder)
        case _:
            return False
    return True


# Shared by Kimi CLI and Kimi Code


def _add_input(content: Any, at: int, builder: SessionBuilder) -> None:
    builder.add_user_message(plain_text(content), at, embedded_images(content))


def _add_part(part: dict[str, Any], at: int, step_id: str, builder: SessionBuilder) -> bool:
    match part.get("type"):
        case "text":
            builder.add_reply(str(part.get("text") or ""), at=at, reply_id=step_id)
        case "think":
            builder.add_reply(at=at, reply_id=step_id, reasoning=str(part.get("think") or ""))
        case _:
            return False
    return True


def _parse_call(call_id: Any, name: Any, arguments: Any) -> ForeignCall:
    return ForeignCall(str(call_id or ""), str(name or "tool"), arguments_json(arguments))


def _add_result(call_id: Any, value: dict[str, Any], failed: bool, at: int, builder: SessionBuilder) -> None:
    """Add a tool result. It consists of the output, and of a message that the tool adds for the model."""
    call_id = str(call_id or "")
    output = value.get("output")
    texts = (plain_text(output), str(value.get("message") or value.get("note") or ""))
    if child := builder.state(_RunState).open_subagents.pop(call_id, None):
        builder.end_subagent(call_id, child, "error" if failed else "completed")
    builder.add_result(call_id, "\n".join(filter(None, texts)), at=at, failed=failed, files=embedded_images(output))


def _parse_usage(usage: Any) -> Usage:
    """Parse the token usage. Kimi's input count excludes cached tokens, so they are added to it."""
    counts = dict_or_empty(usage)

    def count(*names: str) -> int:
        return next((parse_count(counts[name]) for name in names if name in counts), 0)

    cache_read = count("input_cache_read", "inputCacheRead")
    cache_write = count("input_cache_creation", "inputCacheCreation")
    return Usage(
        input=count("input_other", "inputOther") + cache_read + cache_write,
        output=count("output"),
        cache_read=cache_read,
        cache_write=cache_write,
    )
