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
from core.exchange.importers.message_parts import chat_calls, dicts, embedded_images
from core.exchange.importers.record import (
    OpenSession,
    SessionDetails,
    TranscriptRecord,
    derive_key,
    details_record,
    head_records,
    list_records,
    parse_cost,
    parse_count,
    parse_time,
    read_lines,
)
from core.exchange.importers.session_builder import SessionBuilder
from core.store.foreign_db import MAGIC, is_sqlite
from core.store.hermes_db import is_hermes_db, read_hermes_sessions

RECENT_S = 3_600  # while following, only sessions with messages this recent are read
STRUCTURED = "\x00json:"  # prefix of stored content that is JSON, with several parts, instead of text
SUMMARIES = ("[CONTEXT COMPACTION", "[CONTEXT SUMMARY]:")


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
        builder.set_parent(str(parent), subagent="agent")


def _add_message(message: dict[str, Any], builder: SessionBuilder) -> bool:
    content, at = _content(message.get("content")), parse_time(message.get("timestamp"))
    text = plain_text(content)
    match message.get("role"):
        case "user" | "assistant" if text.startswith(SUMMARIES):
            builder.add_compaction("compacted by Hermes", text, at=at)
        case "user":
            files = embedded_images(content)
            if text or files:
                builder.add_user_message(text, at, files)
            return bool(text or files)
        case "assistant":
            calls, state = message.get("tool_calls"), builder.state(_UncountedCost)
            builder.add_reply(
                text, at=at, reasoning=str(message.get("reasoning") or message.get("reasoning_content") or ""),
                calls=chat_calls(json.loads(calls) if isinstance(calls, str) else calls),
                cost=state.cost,
            )  # fmt: skip
            state.cost = None
            builder.complete_reply()
        case "tool":
            code, failed = _outcome(text)
            builder.add_result(str(message.get("tool_call_id") or ""), text, at=at, failed=failed, exit_code=code)
        case _:
            return False
    return True


def _content(content: Any) -> Any:
    if isinstance(content, str) and content.startswith(STRUCTURED):
        return json.loads(content.removeprefix(STRUCTURED))
    return content


def _outcome(text: str) -> tuple[int | None, bool]:
    """Return the exit code of a tool result, if it has one, and whether the call failed.

    Both are read from its JSON.
    """
    try:
        result = json.loads(text) if text.startswith("{") else {}
    except (ValueError, RecursionError):
        return None, False
    code = result.get("exit_code")
    return code if isinstance(code, int) else None, bool(code or result.get("error"))


def _parse_usage(details: dict[str, Any]) -> Usage:
    """Parse the token usage. Hermes's input count excludes cached tokens, so they are added to it."""
    names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
    input, output, read, written, thoughts = (parse_count(details.get(name)) for name in names)
    return Usage(input + read + written, output, read, written, thoughts)


def _cost(details: dict[str, Any]) -> float | None:
    return parse_cost(details.get("actual_cost_usd")) or parse_cost(details.get("estimated_cost_usd")) or None
