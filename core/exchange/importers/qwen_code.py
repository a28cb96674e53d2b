"""Imports Qwen Code sessions, which are JSON Lines files with messages in the format of the Gemini API."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.domain.events import Usage
from core.exchange.importers.followable import AppendedLines, ReadNewRecords
from core.exchange.importers.foreign_call import ForeignCall
from core.exchange.importers.message_parts import arguments_json, dict_or_empty, dicts, output_text
from core.exchange.importers.record import (
    OpenSession,
    SessionFiles,
    TranscriptRecord,
    head_records,
    parse_count,
    parse_time,
    plain_path,
    read_lines,
)
from core.exchange.importers.session_builder import SessionBuilder


class QwenCodeImporter:
    agent = "Qwen Code"
    default_locations: tuple[str, ...] = (".qwen/projects/*/chats/*.jsonl",)

    def recognizes(self, path: Path, head: bytes) -> bool:
        """Recognize the messages' format.

        The fields around a message are those of Claude Code, so they do not suffice.
        """
        return b'"sessionId"' in head and any(
            "systemPayload" in record or _parts(record) for record in head_records(head) if "parentUuid" in record
        )

    def read_records(self, path: Path) -> Iterator[TranscriptRecord]:
        for file, key in self._files(path):
            yield from read_lines(file, key)

    def follow(self, path: Path) -> ReadNewRecords:
        return AppendedLines(lambda: self._files(path))

    def _files(self, path: Path) -> SessionFiles:
        return [(path, plain_path(path).stem)]

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        data = record.value
        if not isinstance(data, dict):
            return False
        builder.set_details(folder=str(data.get("cwd") or ""))
        at = parse_time(data.get("timestamp"))
        match data.get("type"):
            case "user" if not data.get("subtype") or data.get("subtype") == "mid_turn_user_message":
                return _add_user_message(data, at, builder)
            case "assistant":
                return _add_reply(data, at, builder)
            case "tool_result":
                return _add_results(data, at, builder)
            case "system":
                return _add_system_record(data, at, builder)
            case _:
                return False


def _parts(record: dict[str, Any]) -> list[dict[str, Any]]:
    return dicts(dict_or_empty(record.get("message")).get("parts"))


def _text(parts: list[dict[str, Any]]) -> str:
    return "".join(str(part.get("text") or "") for part in parts if not part.get("thought"))


def _thoughts(parts: list[dict[str, Any]]) -> str:
    return "".join(str(part.get("text") or "") for part in parts if part.get("thought"))


def _add_user_message(data: dict[str, Any], at: int, builder: SessionBuilder) -> bool:
    if text := _text(_parts(data)):
        builder.add_user_message(text, at)
    return bool(text)


def _add_reply(data: dict[str, Any], at: int, builder: SessionBuilder) -> bool:
    parts = _parts(data)
    calls = dicts([part.get("functionCall") for part in parts])
    usage = data.get("usageMetadata")
    builder.add_reply(
        _text(parts),
        at=at,
        reasoning=_thoughts(parts),
        calls=[
            ForeignCall(str(call.get("id") or ""), str(call.get("name") or "tool"), arguments_json(call.get("args")))
            for call in calls
        ],
        usage=_parse_usage(usage) if isinstance(usage, dict) else None,
        model=str(data.get("model") or ""),
    )
    return bool(parts) or isinstance(usage, dict)


def _parse_usage(usage: dict[str, Any]) -> Usage:
    """Parse the token usage.

    Depending on the provider, the output count includes the thoughts or not. The total shows which is the case.
    """
    prompt = parse_count(usage.get("promptTokenCount"))
    output = parse_count(usage.get("candidatesTokenCount"))
    thoughts = parse_count(usage.get("thoughtsTokenCount"))
    if parse_count(usage.get("totalTokenCount")) == prompt + output + thoughts:
        output += thoughts
    cached = parse_count(usage.get("cachedContentTokenCount"))
    return Usage(input=prompt, output=output, cache_read=cached, reasoning=thoughts)


def _add_results(data: dict[str, Any], at: int, builder: SessionBuilder) -> bool:
    outcome = dict_or_empty(data.get("toolCallResult"))
    results = dicts([part.get("functionResponse") for part in _parts(data)])
    for result in results:
        call_id = str(result.get("id") or outcome.get("callId") or "")
        output = response = result.get("response")
        if isinstance(response, dict):
            output = response.get("output", response.get("error", response))
        failed = "error" in dict_or_empty(response) or outcome.get("status") == "error"
        builder.add_result(call_id, output_text(output), at=at, failed=failed)
    return bool(results)


def _add_system_record(data: dict[str, Any], at: int, builder: SessionBuilder) -> bool:
    payload = dict_or_empty(data.get("systemPayload"))
    if data.get("subtype") == "custom_title":
        builder.set_details(title=str(payload.get("customTitle") or ""))
        return True
    if data.get("subtype") == "chat_compression":
        info = dict_or_empty(payload.get("info"))
        before = parse_count(info.get("originalTokenCount"))
        after = parse_count(info.get("newTokenCount"))
        builder.add_compaction("compacted by Qwen Code", before=before, after=after, at=at)
        return True
    return False
