"""Imports OpenHands conversations: a folder with a file for each event, or one list of events in version 0."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.exchange.importers.foreign_call import ForeignCall, plain_text
from core.exchange.importers.message_parts import arguments_json
from core.exchange.importers.record import (
    MAX_DOCUMENT_BYTES,
    OpenSession,
    TranscriptRecord,
    derive_key,
    list_records,
    parse_line,
    parse_time,
    read_document,
)
from core.exchange.importers.session_builder import SessionBuilder

NOT_CALLS = frozenset({"message", "system", "recall", "change_agent_state", "null", ""})


class OpenHandsImporter:
    """Imports each event as a record."""

    agent = "OpenHands"
    default_locations: tuple[str, ...] = (".openhands/conversations/*/base_state.json",)

    def recognizes(self, path: Path, head: bytes) -> bool:
        if path.name == "base_state.json":
            return (path.parent / "events").is_dir()
        start = head.lstrip()
        return start.startswith(b"[") and b'"source"' in head and (b'"action"' in head or b'"observation"' in head)

    def read_records(self, path: Path) -> Iterator[TranscriptRecord]:
        if path.name != "base_state.json":
            document = read_document(path)
            yield from list_records(
                derive_key(path), document if isinstance(document, list) else [], path.stat().st_size
            )
            return
        key, bytes_read = path.parent.name, 0
        yield from list_records(key, [{"state": read_document(path)}], 0, ["state"])
        for file in sorted((path.parent / "events").glob("event-*.json")):
            if (size := file.stat().st_size) <= MAX_DOCUMENT_BYTES:
                bytes_read += size
                yield TranscriptRecord(key, *parse_line(file.read_text("utf-8", "replace").encode()), bytes_read)

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        event = record.value
        if not isinstance(event, dict):
            return False
        if "state" in event:
            return _set_details(event["state"], builder)
        at = parse_time(event.get("timestamp"))
        return _event(event, at, builder) if "kind" in event else _first(event, at, builder)


def _set_details(state: Any, builder: SessionBuilder) -> bool:
    if isinstance(state, dict):
        agent, workspace = state.get("agent"), state.get("workspace")
        model = agent.get("llm") if isinstance(agent, dict) else None
        builder.set_details(
            model=str(model.get("model") or "") if isinstance(model, dict) else "",
            folder=str(workspace.get("working_dir") or "") if isinstance(workspace, dict) else "",
        )
    return True


def _event(event: dict[str, Any], at: int, builder: SessionBuilder) -> bool:
    match event.get("kind"):
        case "MessageEvent":
            message = event.get("llm_message") or {}
            text = plain_text(message.get("content"))
            if event.get("source") == "user":
                builder.add_user_message(text, at)
            else:
                builder.add_reply(text, at=at, reasoning=str(message.get("reasoning_content") or ""))
        case "ActionEvent":
            call = event.get("tool_call") if isinstance(event.get("tool_call"), dict) else {}
            arguments = (call or {}).get("arguments") or event.get("action")
            id = str(event.get("tool_call_id") or event.get("id"))
            builder.add_reply(
                plain_text(event.get("thought")), at=at, id=str(event.get("llm_response_id") or ""),
                reasoning=str(event.get("reasoning_content") or ""),
                calls=[ForeignCall(id, str(event.get("tool_name") or "tool"), arguments_json(arguments))],
            )  # fmt: skip
        case "ObservationEvent":
            observation = event.get("observation") if isinstance(event.get("observation"), dict) else {}
            assert isinstance(observation, dict)
            code = observation.get("exit_code")
            builder.add_result(
                str(event.get("tool_call_id") or event.get("action_id")), plain_text(observation.get("content")), at=at,
                failed=observation.get("is_error") is True or bool(code),
                exit_code=code if isinstance(code, int) else None,
            )  # fmt: skip
        case "AgentErrorEvent":
            builder.add_result(str(event.get("tool_call_id")), str(event.get("error")), at=at, failed=True)
        case "UserRejectObservation":
            reason = str(event.get("rejection_reason") or "refused")
            builder.add_result(str(event.get("tool_call_id") or event.get("action_id")), reason, at=at, failed=True)
        case "Condensation":
            builder.add_compaction("condensed by OpenHands", str(event.get("summary") or ""), at=at)
        case "PauseEvent" | "InterruptEvent":
            builder.stop_run("paused by the user", at)
        case _:
            return False
    return True


def _first(event: dict[str, Any], at: int, builder: SessionBuilder) -> bool:
    """Convert an event of version 0. Actions have no call id; `cause` of an observation is the id of its action."""
    args = event.get("args") if isinstance(event.get("args"), dict) else {}
    assert isinstance(args, dict)
    action, observation = event.get("action"), event.get("observation")
    if action == "message":
        text = str(args.get("content") or event.get("message") or "")
        if event.get("source") == "user":
            builder.add_user_message(text, at)
        else:
            builder.add_reply(text, at=at)
        return True
    if isinstance(action, str) and action not in NOT_CALLS and event.get("source") == "agent":
        if action == "finish":
            builder.add_reply(
                str(args.get("final_thought") or args.get("thought") or event.get("message") or ""), at=at
            )
            return True
        id = f"e{event.get('id')}"
        builder.state.setdefault("acts", set()).add(id)
        builder.add_reply(str(args.get("thought") or ""), at=at, calls=[ForeignCall(id, action, arguments_json(args))])
        return True
    if isinstance(observation, str) and f"e{event.get('cause')}" in builder.state.get("acts", ()):
        extras = event.get("extras") if isinstance(event.get("extras"), dict) else {}
        assert isinstance(extras, dict)
        code = (extras.get("metadata") or {}).get("exit_code", extras.get("exit_code"))
        builder.add_result(
            f"e{event['cause']}", str(event.get("content") or ""), at=at, failed=observation == "error" or bool(code),
            exit_code=code if isinstance(code, int) else None,
        )  # fmt: skip
        return True
    return False
