"""Imports sessions of Droid, Factory's agent: JSON Lines files with messages of the Messages API."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.domain.events import Usage
from core.exchange.importers.followable import AppendedLines, ReadNewRecords, details_first
from core.exchange.importers.message_parts import (
    dict_or_empty,
    embedded_images,
    reasoning_text,
    text_of_parts,
    tool_results,
    tool_use_calls,
)
from core.exchange.importers.record import (
    OpenSession,
    SessionDetails,
    SessionFiles,
    TranscriptRecord,
    details_record,
    head_records,
    parse_time,
    plain_path,
    read_json_object,
    read_lines,
    read_usage,
)
from core.exchange.importers.session_builder import SessionBuilder

REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)  # Droid adds this to the user's text


class DroidImporter:
    """Converts the messages of a session.

    Droid stores only a session's total token usage, in another file. The total is added at the first import.
    """

    agent = "Droid"
    default_locations: tuple[str, ...] = (".factory/sessions/*.jsonl", ".factory/sessions/*/*.jsonl")

    def recognizes(self, path: Path, head: bytes) -> bool:
        first = next(head_records(head), {})
        return first.get("type") == "session_start" and "id" in first and "cwd" in first

    def read_records(self, path: Path) -> Iterator[TranscriptRecord]:
        yield from self._details(path)
        for file, key in self._files(path):
            yield from read_lines(file, key)

    def follow(self, path: Path) -> ReadNewRecords:
        return details_first(self._details(path), AppendedLines(lambda: self._files(path)))

    def _files(self, path: Path) -> SessionFiles:
        return [(path, plain_path(path).stem)]

    def _details(self, path: Path) -> Iterator[TranscriptRecord]:
        key = plain_path(path).stem
        yield details_record(key, read_json_object(path.with_name(f"{key}.settings.json")))

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        data = record.value
        if isinstance(data, SessionDetails):
            builder.set_details(model=str(data.values.get("model") or ""))
            builder.add_usage(_parse_usage(dict_or_empty(data.values.get("tokenUsage"))))
            return True
        if not isinstance(data, dict):
            return False
        at = parse_time(data.get("timestamp"))
        match data.get("type"):
            case "session_start":
                title = data.get("sessionTitle") or data.get("title")
                builder.set_details(folder=str(data.get("cwd") or ""), title=str(title or ""))
            case "message" if data.get("visibility") != "llm_only":
                return _add_message(dict_or_empty(data.get("message")), at, builder)
            case "agent_turn_outcome" if data.get("reason") == "completed":
                builder.complete_run(at=at)
            case "compaction_state":
                builder.add_compaction("compacted by Droid", str(data.get("summaryText") or ""), at=at)
            case _:
                return False
        return True


def _add_message(message: dict[str, Any], at: int, builder: SessionBuilder) -> bool:
    content = message.get("content")
    match message.get("role"):
        case "user":
            return _add_user_message(content, at, builder)
        case "assistant":
            builder.add_reply(
                text_of_parts(content),
                at=at,
                reasoning=reasoning_text(content),
                calls=tool_use_calls(content),
                model=str(message.get("modelId") or ""),
            )
            builder.complete_reply()
            return True
        case _:
            return False


def _add_user_message(content: Any, at: int, builder: SessionBuilder) -> bool:
    """Add the tool results in a message with the role user, then the text that the user typed."""
    results = tool_results(content)
    for result in results:
        builder.add_result(result.call_id, result.text, at=at, failed=result.failed, files=result.images)
    text = REMINDER.sub("", text_of_parts(content)).strip()
    files = embedded_images(content)
    if text or files:
        builder.add_user_message(text, at, files)
    return bool(text or files or results)


def _parse_usage(usage: dict[str, Any]) -> Usage:
    return read_usage(
        usage,
        input="inputTokens",
        output="outputTokens",
        cache_read="cacheReadTokens",
        cache_write="cacheCreationTokens",
        reasoning="thinkingTokens",
        input_excludes_cache=True,
    )
