"""Imports sessions of Cline's command line: one JSON document each, with the messages of the Messages API."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.domain.events import Usage
from core.exchange.importers.followable import ReadNewRecords, UnseenRecords
from core.exchange.importers.foreign_call import plain_text
from core.exchange.importers.message_parts import (
    dict_or_empty,
    dicts,
    embedded_images,
    list_or_empty,
    output_text,
    reasoning_text,
    tool_use_calls,
)
from core.exchange.importers.record import (
    OpenSession,
    SessionDetails,
    TranscriptRecord,
    details_record,
    list_records,
    parse_cost,
    parse_time,
    plain_path,
    read_document,
    read_usage,
)
from core.exchange.importers.session_builder import SessionBuilder

MESSAGES_SUFFIX = ".messages"
# What the user typed: Cline wraps it in a tag.
USER_INPUT = re.compile(r'<user_input mode="\w+">(.*?)</user_input>', re.DOTALL)


class ClineImporter:
    """Yields one record for each message. Cline rewrites the whole document after each message."""

    agent = "Cline"
    default_locations: tuple[str, ...] = (".cline/data/sessions/*/*.messages.json",)

    def recognizes(self, path: Path, head: bytes) -> bool:
        return head.lstrip().startswith(b"{") and all(
            name in head for name in (b'"sessionId"', b'"origin"', b'"messages"', b'"agent"')
        )

    def follow(self, path: Path) -> ReadNewRecords:
        return UnseenRecords(lambda: self.read_records(path))

    def read_records(self, path: Path) -> Iterator[TranscriptRecord]:
        document = dict_or_empty(read_document(path))
        key = str(document.get("sessionId") or plain_path(path).stem.removesuffix(MESSAGES_SUFFIX))
        messages = list_or_empty(document.get("messages"))
        identities = [dict_or_empty(message).get("id") for message in messages]
        yield details_record(key, _details(path))
        yield from list_records(key, messages, file_bytes=path.stat().st_size, identities=identities)

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        """Add a record to the session; return whether it was recognized."""
        message = record.value
        if isinstance(message, SessionDetails):
            builder.set_details(**message.values)
            return True
        if not isinstance(message, dict):
            return False
        at = parse_time(message.get("ts"))
        match message.get("role"):
            case "user":
                return _add_user_message(message.get("content"), at, builder)
            case "assistant":
                _add_reply(message, at, builder)
                return True
            case _:
                return False


def _details(path: Path) -> dict[str, str]:
    """Return the folder, model and title, which Cline stores in a file next to the messages."""
    messages_file = plain_path(path)
    file = messages_file.with_name(messages_file.stem.removesuffix(MESSAGES_SUFFIX) + ".json")
    document = dict_or_empty(read_document(file)) if file != messages_file and file.is_file() else {}
    title = dict_or_empty(document.get("metadata")).get("title")
    values = {"folder": document.get("cwd"), "model": document.get("model"), "title": title}
    return {name: str(value or "") for name, value in values.items()}


def _add_user_message(content: Any, at: int, builder: SessionBuilder) -> bool:
    """Add the tool results in a message with the role user, then the text that the user typed."""
    parts = content if isinstance(content, list) else [content]
    results = [part for part in dicts(parts) if part.get("type") == "tool_result"]
    for result in results:
        _add_result(result, at, builder)
    text = plain_text([part for part in parts if part not in results])
    images = embedded_images(parts)
    if text or images:
        inputs = USER_INPUT.findall(text)
        builder.add_user_message("\n".join(inputs) if inputs else text, at, images)
    return bool(text or images or results)


def _add_result(part: dict[str, Any], at: int, builder: SessionBuilder) -> None:
    """Add a tool result. A Cline tool may take several queries at once; its result then has an item for each."""
    content = part.get("content")
    items = dicts(content)
    if items and all("success" in item for item in items):
        output = "\n".join(output_text(item.get("result") or item.get("error") or "") for item in items)
        has_failed_query = any(item.get("success") is False for item in items)
    else:
        output = plain_text(content) or (output_text(content) if content and not items else "")
        has_failed_query = False
    failed = has_failed_query or part.get("is_error") is True
    builder.add_result(str(part.get("tool_use_id") or ""), output, at=at, failed=failed, files=embedded_images(items))


def _add_reply(message: dict[str, Any], at: int, builder: SessionBuilder) -> None:
    content = message.get("content")
    metrics = dict_or_empty(message.get("metrics"))
    builder.add_reply(
        plain_text(content),
        at=at,
        reply_id=str(message.get("id") or ""),
        reasoning=reasoning_text(content),
        calls=tool_use_calls(content),
        usage=_parse_usage(metrics),
        cost=parse_cost(metrics.get("cost")),
        model=str(dict_or_empty(message.get("modelInfo")).get("id") or ""),
    )
    builder.complete_reply()


def _parse_usage(metrics: dict[str, Any]) -> Usage:
    return read_usage(
        metrics,
        input="inputTokens",
        output="outputTokens",
        cache_read="cacheReadTokens",
        cache_write="cacheWriteTokens",
    )
