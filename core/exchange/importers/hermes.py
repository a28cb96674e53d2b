"""Imports Hermes sessions from its database, or from its export, which has one session on each line."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.domain.events import Usage
from core.exchange.importers.followable import ReadNewRecords, UnseenRecords
from core.exchange.importers.foreign_call import plain_text
from core.exchange.importers.message_parts import chat_calls, dict_or_empty, dicts, embedded_images
from core.exchange.importers.record import (
    OpenSession,
    SessionDetails,
    TranscriptRecord,
    derive_key,
    details_record,
    head_records,
    list_records,
    parse_cost,
    parse_exit_code,
    parse_time,
    read_lines,
    read_usage,
)
from core.exchange.importers.session_builder import SessionBuilder
from core.store.foreign_db import MAGIC, is_sqlite
from core.store.hermes_db import is_hermes_db, read_hermes_sessions

RECENT_S = 3_600  # while following, only sessions with messages this recent are read
JSON_PREFIX = "\x00json:"  # of stored content that is JSON, with several parts, instead of text
SUMMARY_PREFIXES = ("[CONTEXT COMPACTION", "[CONTEXT SUMMARY]:")


@dataclass(slots=True)
class _UncountedCost:
    """The cost of the whole session. The first reply takes it over, and it becomes None."""

    cost: float | None = None


class HermesImporter:
    """Yields one record for each message.

    Hermes stores only a session's total token usage and cost. They are added at the first import.
    """

    agent = "Hermes"
    default_locations: tuple[str, ...] = (".hermes/state.db", ".hermes/profiles/*/state.db")

    def recognizes(self, path: Path, head: bytes) -> bool:
        if head.startswith(MAGIC):
            return is_hermes_db(path)
        if b'"system_prompt"' not in head or b'"started_at"' not in head:
            return False
        first = next(head_records(head), None)
        return first is None or {"source", "messages"} <= first.keys()

    def follow(self, path: Path) -> ReadNewRecords:
        since = time.time() - RECENT_S
        return UnseenRecords(lambda: _database_records(path, since, growing=True))

    def read_records(self, path: Path) -> Iterator[TranscriptRecord]:
        return _database_records(path, 0.0, growing=False) if is_sqlite(path) else _export_records(path)

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        value = record.value
        if isinstance(value, SessionDetails):
            _set_details(value.values, builder)
            if value.has_uncounted_usage:
                builder.add_usage(_parse_usage(value.values))
                builder.state(_UncountedCost).cost = _cost(value.values)
            return True
        if not isinstance(value, dict):
            return False
        return bool(value.get("repeated")) or _add_message(value, builder)


def _database_records(path: Path, since: float, *, growing: bool) -> Iterator[TranscriptRecord]:
    for session in read_hermes_sessions(path, since):
        yield from _records(session, str(session["id"]), 0, growing=growing)


def _export_records(path: Path) -> Iterator[TranscriptRecord]:
    for number, record in enumerate(read_lines(path, ""), 1):
        if isinstance(record.value, dict):
            key = str(record.value.get("id") or derive_key(path, f"session {number}"))
            yield from _records(record.value, key, record.bytes_read, growing=False)


def _records(session: dict[str, Any], key: str, bytes_read: int, *, growing: bool) -> Iterator[TranscriptRecord]:
    """Yield the details of a session, then its messages.

    When it compacts the context, Hermes stores the messages that it keeps a second time. These are marked as repeated.
    """
    messages = dicts(session.pop("messages", None))
    compacted: set[tuple[str, ...]] = set()
    values: list[dict[str, Any]] = []
    for message in messages:
        content = tuple(str(message.get(name)) for name in ("role", "content", "tool_calls", "tool_call_id"))
        if message.get("compacted"):
            compacted.add(content)
        values.append({**message, "repeated": not message.get("compacted") and content in compacted})
    yield details_record(key, session, has_uncounted_usage=not growing)
    identities = [message.get("id") or message for message in messages]
    yield from list_records(key, values, file_bytes=bytes_read, identities=identities)


def _set_details(details: dict[str, Any], builder: SessionBuilder) -> None:
    builder.latest = max(builder.latest, parse_time(details.get("started_at")))
    builder.set_details(
        folder=str(details.get("cwd") or ""),
        title=str(details.get("title") or ""),
        model=str(details.get("model") or ""),
    )
    if parent := details.get("parent_session_id"):
        builder.set_parent(str(parent))


def _add_message(message: dict[str, Any], builder: SessionBuilder) -> bool:
    content = _parse_content(message.get("content"))
    at = parse_time(message.get("timestamp"))
    text = plain_text(content)
    match message.get("role"):
        case "user" | "assistant" if text.startswith(SUMMARY_PREFIXES):
            builder.add_compaction("compacted by Hermes", text, at=at)
        case "user":
            files = embedded_images(content)
            if text or files:
                builder.add_user_message(text, at, files)
            return bool(text or files)
        case "assistant":
            calls = message.get("tool_calls")
            state = builder.state(_UncountedCost)
            builder.add_reply(
                text,
                at=at,
                reasoning=str(message.get("reasoning") or message.get("reasoning_content") or ""),
                calls=chat_calls(json.loads(calls) if isinstance(calls, str) else calls),
                cost=state.cost,
            )
            state.cost = None
            builder.complete_reply()
        case "tool":
            fields = _parse_result(text)
            builder.add_result(
                str(message.get("tool_call_id") or ""),
                text,
                at=at,
                failed=bool(fields.get("exit_code") or fields.get("error")),
                exit_code=parse_exit_code(fields.get("exit_code")),
            )
        case _:
            return False
    return True


def _parse_content(content: Any) -> Any:
    if isinstance(content, str) and content.startswith(JSON_PREFIX):
        return json.loads(content.removeprefix(JSON_PREFIX))
    return content


def _parse_result(text: str) -> dict[str, Any]:
    """Return the JSON object of a tool result; empty if the result is not an object."""
    try:
        return dict_or_empty(json.loads(text)) if text.startswith("{") else {}
    except (ValueError, RecursionError):
        return {}


def _parse_usage(details: dict[str, Any]) -> Usage:
    return read_usage(
        details,
        input="input_tokens",
        output="output_tokens",
        cache_read="cache_read_tokens",
        cache_write="cache_write_tokens",
        reasoning="reasoning_tokens",
        input_excludes_cache=True,
    )


def _cost(details: dict[str, Any]) -> float | None:
    return parse_cost(details.get("actual_cost_usd")) or parse_cost(details.get("estimated_cost_usd")) or None
