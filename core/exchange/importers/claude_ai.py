"""Imports the conversations of the data export of Claude.ai."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from core.exchange.importers.chat_exports import conversations_head, read_conversations
from core.exchange.importers.foreign_call import plain_text
from core.exchange.importers.message_parts import arguments_json, dict_or_empty, dicts, text_of_parts, tool_use_calls
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
        content, at = message.get("content"), parse_time(message.get("created_at"))
        match message.get("sender"):
            case "human":
                text = "\n\n".join(
                    filter(None, (text_of_parts(content) or str(message.get("text") or ""), *_attachments(message)))
                )
                if text:
                    builder.add_user_message(text, at)
                return bool(text)
            case "assistant":
                _add_reply(content if isinstance(content, list) else [], str(message.get("text") or ""), at, builder)
                return True
            case _:
                return False


def _attachments(message: dict[str, Any]) -> Iterator[str]:
    """Yield the text of attached documents, and the names of files whose content is not in the export."""
    attachments, files = message.get("attachments"), message.get("files")
    for entry in map(dict_or_empty, attachments if isinstance(attachments, list) else []):
        yield f"[{entry.get('file_name') or 'attachment'}]\n{entry.get('extracted_content') or ''}"
    for entry in files if isinstance(files, list) else []:
        yield f"[{dict_or_empty(entry).get('file_name') or 'file'}]"


def _add_reply(parts: Sequence[Any], text: str, at: int, builder: SessionBuilder) -> None:
    """Add a message of the assistant, which contains all replies and tool results of a turn in their order."""
    blocks = [part for part in parts if isinstance(part, dict)]
    if not blocks:
        builder.add_reply(text, at=at)
    reply = 0
    for part in blocks:
        id = f"{builder.record_count}.{reply}"
        moment = parse_time(part.get("start_timestamp")) or at
        match part.get("type"):
            case "text":
                builder.add_reply(str(part.get("text") or ""), at=moment, id=id)
            case "thinking":
                builder.add_reply(at=moment, id=id, reasoning=str(part.get("thinking") or ""))
            case "tool_use":
                call = tool_use_calls([{**part, "id": part.get("id") or f"{builder.record_count} {part.get('name')}"}])
                builder.add_reply(at=moment, id=id, calls=call)
            case "tool_result":
                reply += 1
                call_id = str(part.get("tool_use_id") or f"{builder.record_count} {part.get('name')}")
                content = part.get("content")
                output = plain_text(content) or (arguments_json(content) if content else "")
                builder.add_result(call_id, output, at=moment, failed=part.get("is_error") is True)
            case _:
                pass  # other parts, such as the remaining token budget, are left out
    builder.complete_reply()
