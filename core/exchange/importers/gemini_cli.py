"""Imports Gemini CLI sessions: a JSON Lines file each, or one JSON document in versions before 0.40."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from core.domain.events import Usage
from core.exchange.importers.followable import AppendedLines, ReadNewRecords
from core.exchange.importers.foreign_call import ForeignCall, plain_text
from core.exchange.importers.message_parts import arguments_json, dict_or_empty, dicts
from core.exchange.importers.record import (
    OpenSession,
    SessionFiles,
    TranscriptRecord,
    head_records,
    list_records,
    parse_count,
    parse_time,
    plain_path,
    read_document,
    read_lines,
)
from core.exchange.importers.session_builder import SessionBuilder

CONTEXT_TAG = "<session_context>"  # Gemini CLI starts a message of its own with this tag


@dataclass(slots=True)
class _KnownReply:
    """The tool calls that were read of a reply, and whether its usage was.

    A later record may repeat the reply with more.
    """

    calls: set[str] = field(default_factory=set)
    has_usage: bool = False


@dataclass(slots=True)
class _KnownMessages:
    """The messages read so far, by ID, and the tool calls that have no result yet."""

    user_messages: set[str] = field(default_factory=set)
    replies: dict[str, _KnownReply] = field(default_factory=dict)
    unanswered: set[str] = field(default_factory=set)


class GeminiCliImporter:
    """Converts each message once. Gemini CLI appends the whole message again when its tokens or tool results arrive."""

    agent = "Gemini CLI"
    default_locations: tuple[str, ...] = (
        ".gemini/tmp/*/chats/session-*.jsonl",
        ".gemini/tmp/*/chats/session-*.json",
        ".gemini/tmp/*/chats/*/*.jsonl",
    )

    def recognizes(self, path: Path, head: bytes) -> bool:
        if b'"projectHash"' not in head or b'"sessionId"' not in head:
            return False
        return path.suffix == ".json" or any("projectHash" in record for record in head_records(head))

    def read_records(self, path: Path) -> Iterator[TranscriptRecord]:
        yield from _folder_record(path)
        for file, key in self._files(path):
            if plain_path(file).suffix == ".json":
                yield from _document_records(file, key)
            else:
                yield from read_lines(file, key)

    def follow(self, path: Path) -> ReadNewRecords:
        first, lines = [_folder_record(path)], AppendedLines(lambda: self._files(path))

        def read_new() -> Iterator[TranscriptRecord]:
            yield from chain(*first, lines())
            first.clear()

        return read_new

    def _files(self, path: Path) -> SessionFiles:
        return [(path, plain_path(path).stem)]

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        data = record.value
        if not isinstance(data, dict):
            return False
        if "projectHash" in data or "$set" in data:
            return _set_details(data.get("$set", data), builder)
        return _add_message(data, builder)


def _folder_record(path: Path) -> Iterator[TranscriptRecord]:
    """Yield a record that sets the session's folder, which Gemini CLI stores in a file in a parent folder."""
    for parent in path.parents[1:3]:
        if (file := parent / ".project_root").is_file():
            folder = file.read_text("utf-8", "replace").strip()
            yield from list_records(plain_path(path).stem, [{"$set": {"directories": [folder]}}], identities=["folder"])
            return


def _document_records(path: Path, key: str) -> Iterator[TranscriptRecord]:
    document = read_document(path)
    document = dict_or_empty(document)
    messages = document.pop("messages", None)
    messages = messages if isinstance(messages, list) else []
    identities = [message.get("id") if isinstance(message, dict) else "" for message in messages]
    # The first entry changes whenever the session grows. It is identified by the session's ID, not by its content.
    yield from list_records(
        key,
        [document, *messages],
        file_bytes=path.stat().st_size,
        identities=[document.get("sessionId"), *identities],
    )


def _set_details(data: Any, builder: SessionBuilder) -> bool:
    """Set the session's details. An update may repeat all messages; those that are new are added."""
    if not isinstance(data, dict):
        return False
    builder.latest = max(builder.latest, parse_time(data.get("startTime")))
    folders = data.get("directories")
    folder = str(folders[0]) if isinstance(folders, list) and folders else ""
    builder.set_details(title=str(data.get("summary") or ""), folder=folder)
    messages = data.get("messages")
    understood = [_add_message(message, builder) for message in (messages if isinstance(messages, list) else [])]
    return all(understood)


def _add_message(message: Any, builder: SessionBuilder) -> bool:
    """Add the content that earlier records of this message did not have. Return whether the message was understood."""
    if not isinstance(message, dict):
        return False
    at = parse_time(message.get("timestamp"))
    match message.get("type"):
        case "user":
            return _add_user_message(message, at, builder)
        case "gemini":
            return _add_reply(message, at, builder)
        case _:
            return False


def _add_user_message(data: dict[str, Any], at: int, builder: SessionBuilder) -> bool:
    """Add the text of a user message, and the tool results in it that no reply had."""
    content = data.get("content")
    responses = [
        part["functionResponse"] for part in (content if isinstance(content, list) else [])
        if isinstance(part, dict) and isinstance(part.get("functionResponse"), dict)
    ]  # fmt: skip
    for response in responses:
        _add_result(str(response.get("id") or ""), [{"functionResponse": response}], "", at, builder)
    text = plain_text(content)
    seen = builder.state(_KnownMessages).user_messages
    id = str(data.get("id") or "")
    if text and not text.startswith(CONTEXT_TAG) and id not in seen:
        builder.add_user_message(text, at)
    seen.add(id)
    return bool(text or responses)


def _add_reply(data: dict[str, Any], at: int, builder: SessionBuilder) -> bool:
    """Add the content that earlier records of this reply did not have: text, thoughts, usage, tool calls, results."""
    id = str(data.get("id") or "")
    state = builder.state(_KnownMessages)
    is_new = id not in state.replies
    known = state.replies.setdefault(id, _KnownReply())
    calls = {str(call.get("id") or f"{id} {index}"): call for index, call in enumerate(dicts(data.get("toolCalls")))}
    new_calls = {call_id: call for call_id, call in calls.items() if call_id not in known.calls}
    tokens = data.get("tokens")
    has_usage = isinstance(tokens, dict)
    if is_new or new_calls or (has_usage and not known.has_usage):
        builder.add_reply(
            plain_text(data.get("content")) if is_new else "",
            at=at,
            id=id,
            reasoning=_thoughts(data) if is_new else "",
            calls=[
                ForeignCall(call_id, str(call.get("name") or "tool"), arguments_json(call.get("args")))
                for call_id, call in new_calls.items()
            ],
            usage=_parse_usage(tokens) if isinstance(tokens, dict) else None,
            model=str(data.get("model") or ""),
        )
    known.calls |= new_calls.keys()
    known.has_usage |= has_usage
    state.unanswered |= new_calls.keys()
    for call_id, call in calls.items():
        if call.get("result") or call.get("status") in {"error", "cancelled"}:
            status, moment = str(call.get("status") or ""), parse_time(call.get("timestamp"))
            _add_result(call_id, call.get("result"), status, moment or at, builder)
    return True


def _thoughts(data: dict[str, Any]) -> str:
    thoughts = dicts(data.get("thoughts"))
    texts = (f"{thought.get('subject') or ''}\n{thought.get('description') or ''}".strip() for thought in thoughts)
    return "\n\n".join(filter(None, texts))


def _add_result(call: str, result: Any, status: str, at: int, builder: SessionBuilder) -> None:
    """Add the result of a tool call, unless the call already has one."""
    unanswered = builder.state(_KnownMessages).unanswered
    if call not in unanswered:
        return
    unanswered.remove(call)
    parts = result if isinstance(result, list) else [result]
    outputs, failed = [], status in {"error", "cancelled"}
    for part in parts:
        response = part.get("functionResponse") if isinstance(part, dict) else None
        response = response.get("response") if isinstance(response, dict) else part
        if isinstance(response, dict):
            failed = failed or "error" in response
            response = response.get("output", response.get("error", response))
        outputs += [response if isinstance(response, str) else arguments_json(response)] if response else []
    builder.add_result(call, "\n".join(outputs) or status, at=at, failed=failed)


def _parse_usage(tokens: dict[str, Any]) -> Usage:
    """Parse the token usage. Tokens of tool results are added to the input, tokens of thoughts to the output."""
    thoughts = parse_count(tokens.get("thoughts"))
    return Usage(
        parse_count(tokens.get("input")) + parse_count(tokens.get("tool")),
        parse_count(tokens.get("output")) + thoughts,
        parse_count(tokens.get("cached")),
        0,
        thoughts,
    )
