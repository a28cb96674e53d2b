"""Imports the conversations of the data export of Claude.ai."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.exchange.importers.chat_exports import conversations_head, read_conversations
from core.exchange.importers.foreign_call import plain_text
from core.exchange.importers.message_parts import (
    dict_or_empty,
    dicts,
    list_or_empty,
    output_text,
    text_of_parts,
    tool_use_calls,
)
from core.exchange.importers.record import (
    OpenSession,
    SessionDetails,
    TranscriptRecord,
    details_record,
    list_records,
    parse_time,
)
from core.exchange.importers.session_builder import SessionBuilder


class ClaudeAiImporter:
    """Imports each conversation as a session. The export contains no token counts."""

    agent = "Claude.ai"
    default_locations: tuple[str, ...] = ()

    def recognizes(self, path: Path, head: bytes) -> bool:
        return b'"chat_messages"' in conversations_head(path, head)

    def read_records(self, path: Path) -> Iterator[TranscriptRecord]:
        for conversation in read_conversations(path):
            messages = dicts(conversation.pop("chat_messages", None))
            key = str(conversation.get("uuid") or conversation.get("name"))
            yield details_record(key, conversation)
            yield from list_records(key, messages, identities=[message.get("uuid") or "" for message in messages])

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        message = record.value
        if isinstance(message, SessionDetails):
            details = message.values
            builder.latest = max(builder.latest, parse_time(details.get("created_at")))
            builder.set_details(title=str(details.get("name") or ""), model=str(details.get("model") or ""))
            return True
        at = parse_time(message.get("created_at"))
        match message.get("sender"):
            case "human":
                return _add_user_message(message, at, builder)
            case "assistant":
                _add_reply(message, at, builder)
                return True
            case _:
                return False


def _add_user_message(message: dict[str, Any], at: int, builder: SessionBuilder) -> bool:
    typed = text_of_parts(message.get("content")) or str(message.get("text") or "")
    text = "\n\n".join(filter(None, (typed, *_attachments(message))))
    if text:
        builder.add_user_message(text, at)
    return bool(text)


def _attachments(message: dict[str, Any]) -> Iterator[str]:
    """Yield the text of attached documents, and the names of files whose content is not in the export."""
    for entry in map(dict_or_empty, list_or_empty(message.get("attachments"))):
        yield f"[{entry.get('file_name') or 'attachment'}]\n{entry.get('extracted_content') or ''}"
    for entry in map(dict_or_empty, list_or_empty(message.get("files"))):
        yield f"[{entry.get('file_name') or 'file'}]"


def _add_reply(message: dict[str, Any], at: int, builder: SessionBuilder) -> None:
    """Add a message of the assistant, which contains all replies and tool results of a turn in their order."""
    parts = dicts(message.get("content"))
    if not parts:
        builder.add_reply(str(message.get("text") or ""), at=at)
    reply_number = 0
    for part in parts:
        reply_id = f"{builder.record_count}.{reply_number}"
        unnamed_id = f"{builder.record_count} {part.get('name')}"  # of a call that has no ID in the export
        started_at = parse_time(part.get("start_timestamp")) or at
        match part.get("type"):
            case "text":
                builder.add_reply(str(part.get("text") or ""), at=started_at, reply_id=reply_id)
            case "thinking":
                builder.add_reply(at=started_at, reply_id=reply_id, reasoning=str(part.get("thinking") or ""))
            case "tool_use":
                calls = tool_use_calls([{**part, "id": part.get("id") or unnamed_id}])
                builder.add_reply(at=started_at, reply_id=reply_id, calls=calls)
            case "tool_result":
                reply_number += 1
                content = part.get("content")
                output = plain_text(content) or (output_text(content) if content else "")
                call_id = str(part.get("tool_use_id") or unnamed_id)
                builder.add_result(call_id, output, at=started_at, failed=part.get("is_error") is True)
            case _:
                pass  # other parts, such as the remaining token budget, are left out
    builder.complete_reply()
