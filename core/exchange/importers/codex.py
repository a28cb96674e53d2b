"""Imports Codex sessions, a JSON Lines rollout file each."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from core.exchange.importers.followable import AppendedLines, ReadNewRecords
from core.exchange.importers.foreign_call import ForeignCall, plain_text
from core.exchange.importers.message_parts import arguments_json, dict_or_empty, embedded_images, output_text
from core.exchange.importers.record import (
    OpenSession,
    SessionFiles,
    TranscriptRecord,
    head_records,
    parse_exit_code,
    parse_time,
    plain_path,
    read_lines,
    read_usage,
)
from core.exchange.importers.session_builder import SessionBuilder

HIDDEN_PREFIXES = (
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<turn_aborted>",
    "<permissions",
)
PROCESS_EXIT = re.compile(r"^Process exited with code (-?\d+)$", re.MULTILINE)
EXIT_CODE = re.compile(r"^Exit code: (-?\d+)$", re.MULTILINE)
ENVELOPE = re.compile(rb'"type": ?"(?:session_meta|response_item|turn_context|event_msg)", ?"payload"')
CALL_TYPES = frozenset({"function_call", "custom_tool_call", "local_shell_call", "web_search_call"})
SESSION_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}$")


@dataclass(slots=True)
class _TurnState:
    """The state of the conversion between two records.

    Attributes:
        turn: The number of the current reply. The items of a reply have no common ID in the file.
        reasoning: The parts of the reasoning that were added to the reply `reasoning_turn`.
        has_usage_records: Whether the file has token usage records, so that the counts in events are ignored.
        total_usage: The last reported token count of the whole session.
    """

    turn: int = 0
    reasoning: list[str] = field(default_factory=list)
    reasoning_turn: int | None = None
    has_usage_records: bool = False
    total_usage: Any = None

    @property
    def reply_id(self) -> str:
        return f"t{self.turn}"


class CodexImporter:
    """Reads messages and calls from the `response_item` records; most `event_msg` records only repeat them."""

    agent = "Codex"
    default_locations: tuple[str, ...] = (
        ".codex/sessions/*/*/*/rollout-*.jsonl",
        ".codex/archived_sessions/rollout-*.jsonl",
    )

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Recognize current rollout files, and those of early versions, whose records have no `payload`."""
        if plain_path(path).suffix != ".jsonl":
            return False
        if ENVELOPE.search(head) or b'{"record_type":"state"}' in head:
            return True
        first = next(head_records(head), {})
        return {"id", "timestamp", "instructions"} <= first.keys()

    def read_records(self, path: Path) -> Iterator[TranscriptRecord]:
        for file, key in self._files(path):
            yield from read_lines(file, key)

    def follow(self, path: Path) -> ReadNewRecords:
        return AppendedLines(lambda: self._files(path))

    def _files(self, path: Path) -> SessionFiles:
        name = plain_path(path).stem
        match = SESSION_ID.search(name)
        return [(path, match.group() if match else name)]

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        data = record.value
        if not isinstance(data, dict):
            return False
        payload = data.get("payload")
        at = parse_time(data.get("timestamp"))
        if not isinstance(payload, dict):
            return _add_early_record(data, at, builder)
        match data.get("type"):
            case "session_meta":
                builder.set_details(folder=str(payload.get("cwd") or ""))
                return True
            case "turn_context":
                builder.set_details(model=str(payload.get("model") or ""))
                return True
            case "response_item":
                return _add_item(payload, at, builder)
            case "token_usage_record":
                builder.state(_TurnState).has_usage_records = True
                return add_usage(payload.get("usage"), builder)
            case "compacted":
                builder.add_compaction("compacted by Codex", str(payload.get("message") or ""), at=at)
                return True
            case "event_msg":
                return _add_event(payload, at, builder)
            case _:
                return False


def _add_early_record(data: dict[str, Any], at: int, builder: SessionBuilder) -> bool:
    """Convert a record of an early version: a response item, the session's header, or a marker without content."""
    if "instructions" in data and "id" in data:
        builder.set_details(folder=str(data.get("cwd") or ""), model=str(data.get("model") or ""))
        builder.latest = max(builder.latest, at)
        return True
    return data.get("record_type") == "state" or _add_item(data, at, builder)


def _add_item(item: dict[str, Any], at: int, builder: SessionBuilder) -> bool:
    kind = item.get("type")
    state = builder.state(_TurnState)
    if kind == "message":
        return _add_message(item, at, builder)
    if kind == "reasoning":
        parts = [*(item.get("summary") or ()), *(item.get("content") or ())]
        _add_reasoning(plain_text(parts), at, builder)
    elif kind in CALL_TYPES:
        builder.add_reply(at=at, reply_id=state.reply_id, calls=[_parse_call(item, str(kind))])
    elif isinstance(kind, str) and kind.endswith("_call_output"):
        state.turn += 1
        _add_result(item, at, builder)
    else:
        return False
    return True


def _add_reasoning(text: str, at: int, builder: SessionBuilder) -> None:
    """Add reasoning to the current reply, leaving out the parts that the reply already has.

    Codex may report the same reasoning as an event, as a response item, or as both, in any order.
    """
    state = builder.state(_TurnState)
    if state.reasoning_turn != state.turn:
        state.reasoning.clear()
        state.reasoning_turn = state.turn
    parts = [part for part in text.split("\n\n") if part.strip()]
    missing = [part for part in parts if part.strip() not in state.reasoning]
    state.reasoning += [part.strip() for part in parts]
    builder.add_reply(at=at, reply_id=state.reply_id, reasoning="\n\n".join(missing))


def _add_message(item: dict[str, Any], at: int, builder: SessionBuilder) -> bool:
    text = plain_text(item.get("content"))
    role = item.get("role")
    state = builder.state(_TurnState)
    if role == "assistant":
        builder.add_reply(text, at=at, reply_id=state.reply_id)
        return True
    if role != "user" or text.lstrip().startswith(HIDDEN_PREFIXES):
        return False
    state.turn += 1
    builder.add_user_message(text, at, embedded_images(item.get("content")))
    return True


def _parse_call(item: dict[str, Any], kind: str) -> ForeignCall:
    call_id = str(item.get("call_id") or item.get("id") or "")
    match kind:
        case "local_shell_call":
            return ForeignCall(call_id, "shell", arguments_json(dict_or_empty(item.get("action"))))
        case "web_search_call":
            return ForeignCall(call_id, "web_search", arguments_json(item.get("action")))
        case "function_call":
            arguments = item.get("arguments")
        case _:
            arguments = {"input": item.get("input")}
    return ForeignCall(call_id, str(item.get("name") or "tool"), arguments_json(arguments))


def _add_result(item: dict[str, Any], at: int, builder: SessionBuilder) -> None:
    output = item.get("output")
    result = _parse_output(output)
    builder.add_result(
        str(item.get("call_id") or ""),
        result.text,
        at=at,
        failed=bool(result.exit_code) or dict_or_empty(output).get("success") is False,
        exit_code=result.exit_code,
        files=embedded_images(output),
    )


class _Output(NamedTuple):
    text: str
    exit_code: int | None = None


def _parse_output(output: Any) -> _Output:
    """Return the output of a tool, as the model read it.

    Shell tools put the exit code into the text: new versions into a header, old ones into a JSON object.
    """
    text = plain_text(output) or output_text(output)
    if text.startswith('{"output":'):
        try:
            value = json.loads(text)
            return _Output(str(value["output"]), parse_exit_code(value.get("metadata", {}).get("exit_code")))
        except (ValueError, KeyError, AttributeError, RecursionError):
            return _Output(text)
    header = text[:500]
    match = PROCESS_EXIT.search(header) or EXIT_CODE.search(header)
    return _Output(text, int(match.group(1)) if match else None)


def _add_event(event: dict[str, Any], at: int, builder: SessionBuilder) -> bool:
    match event.get("type"):
        case "token_count":
            return _add_counted_usage(event.get("info"), builder)
        case "turn_aborted":
            builder.stop_run(str(event.get("reason") or "interrupted"), at)
        case "task_complete":
            builder.complete_run(at=at)
        case "error":
            builder.fail_run(str(event.get("message") or "an error"), at)
        case "agent_reasoning":
            _add_reasoning(str(event.get("text") or ""), at, builder)
        case "user_message" | "agent_message" | "item_completed" | "task_started":
            pass  # a response item repeats this
        case _:
            return False
    return True


def _add_counted_usage(info: Any, builder: SessionBuilder) -> bool:
    """Add the token usage of a request. Codex repeats a count; it is new only if the session's total has changed."""
    state = builder.state(_TurnState)
    if state.has_usage_records or not isinstance(info, dict):
        return True
    total_usage = info.get("total_token_usage")
    is_repeated = isinstance(total_usage, dict) and total_usage == state.total_usage
    state.total_usage = total_usage
    return is_repeated or add_usage(info.get("last_token_usage"), builder)


def add_usage(usage: Any, builder: SessionBuilder) -> bool:
    """Add a usage object of the Responses API. Return false if the value is not an object."""
    if not isinstance(usage, dict):
        return False
    builder.add_usage(
        read_usage(
            usage,
            input="input_tokens",
            output="output_tokens",
            cache_read="cached_input_tokens",
            cache_write="cache_write_input_tokens",
            reasoning="reasoning_output_tokens",
        )
    )
    return True
