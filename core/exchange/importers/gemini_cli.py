"""Imports Gemini CLI sessions: a JSON Lines file each, or one JSON document in versions before 0.40."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.domain.events import Usage
from core.exchange.importers.followable import AppendedLines, ReadNewRecords, details_first
from core.exchange.importers.foreign_call import ForeignCall, plain_text
from core.exchange.importers.message_parts import arguments_json, dict_or_empty, dicts, list_or_empty, output_text
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

FAILED_STATES = frozenset({"error", "cancelled"})  # of a tool call
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
        return details_first(_folder_record(path), AppendedLines(lambda: self._files(path)))

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
    document = dict_or_empty(read_document(path))
    messages = list_or_empty(document.pop("messages", None))
    message_ids = [message.get("id") if isinstance(message, dict) else "" for message in messages]
    # The first entry changes whenever the session grows. It is identified by the session's ID, not by its content.
    yield from list_records(
        key,
        [document, *messages],
        file_bytes=path.stat().st_size,
        identities=[document.get("sessionId"), *message_ids],
    )


def _set_details(data: Any, builder: SessionBuilder) -> bool:
    """Set the session's details. An update may repeat all messages; those that are new are added."""
    if not isinstance(data, dict):
        return False
    builder.latest = max(builder.latest, parse_time(data.get("startTime")))
    folder = next(iter(list_or_empty(data.get("directories"))), "")
    builder.set_details(title=str(data.get("summary") or ""), folder=str(folder))
    understood = [_add_message(message, builder) for message in list_or_empty(data.get("messages"))]
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
    responses = dicts([part.get("functionResponse") for part in dicts(content)])
    for response in responses:
        _add_result(str(response.get("id") or ""), [{"functionResponse": response}], "", at, builder)
    text = plain_text(content)
    known_ids = builder.state(_KnownMessages).user_messages
    message_id = str(data.get("id") or "")
    if text and not text.startswith(CONTEXT_TAG) and message_id not in known_ids:
        builder.add_user_message(text, at)
    known_ids.add(message_id)
    return bool(text or responses)


def _add_reply(data: dict[str, Any], at: int, builder: SessionBuilder) -> bool:
    """Add the content that earlier records of this reply did not have: text, thoughts, usage, tool calls, results."""
    reply_id = str(data.get("id") or "")
    state = builder.state(_KnownMessages)
    is_new = reply_id not in state.replies
    known = state.replies.setdefault(reply_id, _KnownReply())
    calls = {
        str(call.get("id") or f"{reply_id} {index}"): call for index, call in enumerate(dicts(data.get("toolCalls")))
    }
    new_calls = {call_id: call for call_id, call in calls.items() if call_id not in known.calls}
    tokens = data.get("tokens")
    has_usage = isinstance(tokens, dict)
    if is_new or new_calls or (has_usage and not known.has_usage):
        builder.add_reply(
            plain_text(data.get("content")) if is_new else "",
            at=at,
            reply_id=reply_id,
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
        status = str(call.get("status") or "")
        if call.get("result") or status in FAILED_STATES:
            ended_at = parse_time(call.get("timestamp")) or at
            _add_result(call_id, call.get("result"), status, ended_at, builder)
    return True


def _thoughts(data: dict[str, Any]) -> str:
    thoughts = dicts(data.get("thoughts"))
    texts = (f"{thought.get('subject') or ''}\n{thought.get('description') or ''}".strip() for thought in thoughts)
    return "\n\n".join(filter(None, texts))


def _add_result(call_id: str, result: Any, status: str, at: int, builder: SessionBuilder) -> None:
    """Add the result of a tool call, unless the call already has one."""
    unanswered = builder.state(_KnownMessages).unanswered
    if call_id not in unanswered:
        return
    unanswered.remove(call_id)
    responses = [_response(part) for part in (result if isinstance(result, list) else [result])]
    outputs = [_response_output(response) for response in responses if response]
    failed = status in FAILED_STATES or any("error" in response for response in dicts(responses))
    builder.add_result(call_id, "\n".join(filter(None, outputs)) or status, at=at, failed=failed)


def _response(part: Any) -> Any:
    """Return the response in a part of a tool result; the part itself if it contains no response."""
    response = dict_or_empty(part).get("functionResponse")
    return response.get("response") if isinstance(response, dict) else part


def _response_output(response: Any) -> str:
    if isinstance(response, dict):
        response = response.get("output", response.get("error", response))
    return output_text(response) if response else ""


def _parse_usage(tokens: dict[str, Any]) -> Usage:
    """Parse the token usage. Tokens of tool results are added to the input, tokens of thoughts to the output."""
    thoughts = parse_count(tokens.get("thoughts"))
    return Usage(
        input=parse_count(tokens.get("input")) + parse_count(tokens.get("tool")),
        output=parse_count(tokens.get("output")) + thoughts,
        cache_read=parse_count(tokens.get("cached")),
        reasoning=thoughts,
    )
