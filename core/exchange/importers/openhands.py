"""Imports OpenHands conversations.

A conversation is a folder with a file for each event, a file with one event per line or, in version 0, one list of
events. An evaluation writes `output.jsonl`, with one conversation per line.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from core.exchange.importers.foreign_call import ForeignCall, plain_text
from core.exchange.importers.message_parts import arguments_json, dict_or_empty, list_or_empty
from core.exchange.importers.record import (
    MAX_DOCUMENT_BYTES,
    OpenSession,
    SessionDetails,
    TranscriptRecord,
    derive_key,
    details_record,
    head_records,
    list_records,
    parse_exit_code,
    parse_line,
    parse_time,
    plain_path,
    read_document,
    read_lines,
    read_usage,
    to_json,
)
from core.exchange.importers.session_builder import SessionBuilder

ACTIONS_WITHOUT_CALL = frozenset({"message", "system", "recall", "change_agent_state", "null", ""})


@dataclass(slots=True)
class _Actions:
    """The IDs given to the tool calls of a conversation of version 0.

    `unnamed` are those of actions that have no ID in the conversation and no observation yet, oldest first.
    """

    ids: set[str] = field(default_factory=set)
    unnamed: list[str] = field(default_factory=list)

    def add(self, event: dict[str, Any]) -> str:
        """Return the ID for the call of an action."""
        if event.get("id") is None:
            call_id = f"unnamed {len(self.ids)}"
            self.unnamed.append(call_id)
        else:
            call_id = f"e{event['id']}"
        self.ids.add(call_id)
        return call_id

    def find(self, event: dict[str, Any]) -> str | None:
        """Return the ID of the call that an observation answers; None if there is no such call."""
        cause = event.get("cause")
        if cause is None:
            return self.unnamed.pop(0) if self.unnamed else None
        call_id = f"e{cause}"
        return call_id if call_id in self.ids else None


@dataclass(frozen=True, slots=True)
class _ConversationEnd:
    """The token usage of a whole conversation, and its error, which is empty if the conversation succeeded."""

    metrics: dict[str, Any]
    error: str


class OpenHandsImporter:
    """Yields one record for each event of a conversation."""

    agent = "OpenHands"
    default_locations: tuple[str, ...] = (".openhands/conversations/*/base_state.json",)

    def recognizes(self, path: Path, head: bytes) -> bool:
        if path.name == "base_state.json":
            return (path.parent / "events").is_dir()
        first = next(head_records(head), {})
        if "source" in first and str(first.get("kind")).endswith("Event"):
            return True
        if {"instance_id", "history"} <= first.keys():
            return True
        start = head.lstrip()
        if start.startswith(b'{"') and b'"instance_id"' in head and b'"history"' in head:
            return True  # a line longer than the head, so `head_records` finds no complete record
        return start.startswith(b"[") and b'"source"' in head and (b'"action"' in head or b'"observation"' in head)

    def read_records(self, path: Path) -> Iterator[TranscriptRecord]:
        if plain_path(path).suffix == ".jsonl":
            yield from _line_records(path)
        elif path.name == "base_state.json":
            yield from _folder_records(path)
        else:
            events = list_or_empty(read_document(path))
            yield from list_records(derive_key(path), events, file_bytes=path.stat().st_size)

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        event = record.value
        if isinstance(event, SessionDetails):
            _set_details(event.values, builder)
            return True
        if isinstance(event, _ConversationEnd):
            _end_run(event, builder)
            return True
        if not isinstance(event, dict):
            return False
        at = parse_time(event.get("timestamp"))
        return _add_event(event, at, builder) if "kind" in event else _add_version_0_event(event, at, builder)


def _folder_records(path: Path) -> Iterator[TranscriptRecord]:
    """Yield the details of a conversation, then its events, which are in a folder next to the details."""
    key = path.parent.name
    bytes_read = 0
    yield details_record(key, dict_or_empty(read_document(path)))
    for file in sorted((path.parent / "events").glob("event-*.json")):
        if (size := file.stat().st_size) <= MAX_DOCUMENT_BYTES:
            bytes_read += size
            raw, value = parse_line(file.read_text("utf-8", "replace").encode())
            yield TranscriptRecord(key, raw, value, bytes_read)


def _line_records(path: Path) -> Iterator[TranscriptRecord]:
    """Yield the events of a file whose lines are events, or whole conversations of an evaluation."""
    for number, line in enumerate(read_lines(path, derive_key(path)), 1):
        result = line.value
        if not isinstance(result, dict) or "history" not in result:
            yield line
            continue
        metadata = dict_or_empty(result.get("metadata"))
        history = list_or_empty(result["history"])
        # In early versions, an entry of the history is a pair of an action and its observation.
        events = [event for entry in history for event in (entry if isinstance(entry, list) else [entry])]
        key = derive_key(path, str(result.get("instance_id") or f"conversation {number}"))
        if not any(_is_from_user(event) for event in events):
            events.insert(0, _task_message(result))
        yield details_record(key, {"agent": {"llm": metadata.get("llm_config") or metadata.get("llm")}})
        for record in list_records(key, events):
            yield record._replace(bytes_read=line.bytes_read)
        end = _ConversationEnd(metrics=dict_or_empty(result.get("metrics")), error=str(result.get("error") or ""))
        yield TranscriptRecord(key, to_json(asdict(end)), end, line.bytes_read)


def _is_from_user(event: Any) -> bool:
    return dict_or_empty(event).get("source") == "user"


def _task_message(result: dict[str, Any]) -> dict[str, Any]:
    """Return the task of an evaluation as a user message, for a conversation that has none."""
    return {"source": "user", "action": "message", "args": {"content": str(result.get("instruction") or "")}}


def _end_run(end: _ConversationEnd, builder: SessionBuilder) -> None:
    usage = dict_or_empty(end.metrics.get("accumulated_token_usage"))
    builder.add_usage(
        read_usage(
            usage,
            input="prompt_tokens",
            output="completion_tokens",
            cache_read="cache_read_tokens",
            cache_write="cache_write_tokens",
        )
    )
    if end.error:
        builder.settle()
        builder.fail_run(end.error)


def _set_details(state: dict[str, Any], builder: SessionBuilder) -> None:
    model = dict_or_empty(dict_or_empty(state.get("agent")).get("llm"))
    workspace = dict_or_empty(state.get("workspace"))
    builder.set_details(model=str(model.get("model") or ""), folder=str(workspace.get("working_dir") or ""))


def _add_event(event: dict[str, Any], at: int, builder: SessionBuilder) -> bool:
    call_id = str(event.get("tool_call_id") or event.get("action_id") or "")
    match event.get("kind"):
        case "MessageEvent":
            message = event.get("llm_message") or {}
            text = plain_text(message.get("content"))
            if event.get("source") == "user":
                builder.add_user_message(text, at)
            else:
                builder.add_reply(text, at=at, reasoning=str(message.get("reasoning_content") or ""))
        case "ActionEvent":
            _add_action(event, at, builder)
        case "ObservationEvent":
            _add_observation(dict_or_empty(event.get("observation")), call_id, at, builder)
        case "AgentErrorEvent":
            builder.add_result(str(event.get("tool_call_id") or ""), str(event.get("error") or ""), at=at, failed=True)
        case "UserRejectObservation":
            builder.add_result(call_id, str(event.get("rejection_reason") or "refused"), at=at, failed=True)
        case "Condensation":
            builder.add_compaction("condensed by OpenHands", str(event.get("summary") or ""), at=at)
        case "PauseEvent" | "InterruptEvent":
            builder.stop_run("paused by the user", at)
        case _:
            return False
    return True


def _add_action(event: dict[str, Any], at: int, builder: SessionBuilder) -> None:
    arguments = dict_or_empty(event.get("tool_call")).get("arguments") or event.get("action")
    call = ForeignCall(
        id=str(event.get("tool_call_id") or event.get("id") or ""),
        tool=str(event.get("tool_name") or "tool"),
        arguments=arguments_json(arguments),
    )
    builder.add_reply(
        plain_text(event.get("thought")),
        at=at,
        reply_id=str(event.get("llm_response_id") or ""),
        reasoning=str(event.get("reasoning_content") or ""),
        calls=[call],
    )


def _add_observation(observation: dict[str, Any], call_id: str, at: int, builder: SessionBuilder) -> None:
    exit_code = parse_exit_code(observation.get("exit_code"))
    failed = observation.get("is_error") is True or bool(exit_code)
    builder.add_result(call_id, plain_text(observation.get("content")), at=at, failed=failed, exit_code=exit_code)


def _add_version_0_event(event: dict[str, Any], at: int, builder: SessionBuilder) -> bool:
    """Convert an event of version 0. An action has no call ID; its observation refers to the action's ID by `cause`."""
    action, observation = event.get("action"), event.get("observation")
    is_from_agent = event.get("source") == "agent"
    if action == "message":
        _add_version_0_message(event, at, builder)
    elif isinstance(action, str) and action not in ACTIONS_WITHOUT_CALL and is_from_agent:
        _add_version_0_action(action, event, at, builder)
    elif isinstance(observation, str) and (call_id := builder.state(_Actions).find(event)):
        extras = dict_or_empty(event.get("extras"))
        exit_code = parse_exit_code((extras.get("metadata") or {}).get("exit_code", extras.get("exit_code")))
        failed = observation == "error" or bool(exit_code)
        builder.add_result(call_id, str(event.get("content") or ""), at=at, failed=failed, exit_code=exit_code)
    else:
        return False
    return True


def _add_version_0_message(event: dict[str, Any], at: int, builder: SessionBuilder) -> None:
    text = str(dict_or_empty(event.get("args")).get("content") or event.get("message") or "")
    if _is_from_user(event):
        builder.add_user_message(text, at)
    else:
        builder.add_reply(text, at=at)


def _add_version_0_action(action: str, event: dict[str, Any], at: int, builder: SessionBuilder) -> None:
    args = dict_or_empty(event.get("args"))
    if action == "finish":
        text = args.get("final_thought") or args.get("thought") or event.get("message")
        builder.add_reply(str(text or ""), at=at)
        return
    call = ForeignCall(builder.state(_Actions).add(event), action, arguments_json(args))
    builder.add_reply(str(args.get("thought") or ""), at=at, calls=[call])
