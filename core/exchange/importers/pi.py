"""Imports sessions of pi, and of OpenClaw, which is built on pi: JSON Lines files whose entries form a tree."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.domain.events import Usage
from core.exchange.importers.followable import AppendedLines, ReadNewRecords
from core.exchange.importers.foreign_call import ForeignCall, plain_text
from core.exchange.importers.message_parts import arguments_json, dict_or_empty, dicts, mcp_images, reasoning_text
from core.exchange.importers.record import (
    OpenSession,
    SessionFiles,
    TranscriptRecord,
    head_records,
    parse_cost,
    parse_count,
    parse_exit_code,
    parse_time,
    plain_path,
    read_lines,
    read_usage,
)
from core.exchange.importers.session_builder import SessionBuilder

ERROR_REASONS = {"error": "the request failed", "aborted": "aborted by the user"}
NORMAL_STOP_REASONS = frozenset({"stop", "toolUse"})


class PiImporter:
    """Converts the entries of all branches of the tree, in the order in which they were written."""

    agent = "pi"
    default_locations: tuple[str, ...] = (".pi/agent/sessions/*/*.jsonl", ".openclaw/agents/*/sessions/*.jsonl")

    def recognizes(self, path: Path, head: bytes) -> bool:
        first = next(head_records(head), {})
        return first.get("type") == "session" and "cwd" in first and "id" in first

    def read_records(self, path: Path) -> Iterator[TranscriptRecord]:
        for file, key in self._files(path):
            yield from read_lines(file, key)

    def follow(self, path: Path) -> ReadNewRecords:
        return AppendedLines(lambda: self._files(path))

    def _files(self, path: Path) -> SessionFiles:
        return [(path, plain_path(path).stem.rpartition("_")[2])]  # a file name ends in the session's ID

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        entry = record.value
        if not isinstance(entry, dict):
            return False
        at = parse_time(entry.get("timestamp"))
        match entry.get("type"):
            case "session":
                builder.set_details(folder=str(entry.get("cwd") or ""))
            case "session_info":
                builder.set_details(title=str(entry.get("name") or ""))
            case "model_change":
                builder.set_details(model=str(entry.get("modelId") or ""))
            case "message":
                message = entry.get("message")
                return isinstance(message, dict) and _add_message(message, at, str(entry.get("id") or ""), builder)
            case "custom_message" if text := plain_text(entry.get("content")):
                builder.add_user_message(text, at)
            case "compaction":
                before = parse_count(entry.get("tokensBefore"))
                builder.add_compaction("compacted by pi", str(entry.get("summary") or ""), before, at=at)
            case "branch_summary":
                builder.add_compaction("another branch, summarized", str(entry.get("summary") or ""), at=at)
            case _:
                return False
        return True


def _add_message(message: dict[str, Any], at: int, entry_id: str, builder: SessionBuilder) -> bool:
    content = message.get("content")
    match message.get("role"):
        case "user":
            builder.add_user_message(plain_text(content), at, mcp_images(content))
        case "assistant":
            _add_reply(message, at, builder)
        case "toolResult":
            call_id = str(message.get("toolCallId") or "")
            failed = message.get("isError") is True
            builder.add_result(call_id, plain_text(content), at=at, failed=failed, files=mcp_images(content))
        case "bashExecution":
            _add_command(message, at, entry_id, builder)
        case _:
            return False
    return True


def _add_reply(message: dict[str, Any], at: int, builder: SessionBuilder) -> None:
    content = message.get("content")
    usage = dict_or_empty(message.get("usage"))
    stop_reason = str(message.get("stopReason") or "")
    builder.add_reply(
        plain_text(content),
        at=at,
        reasoning=reasoning_text(content),
        calls=_parse_calls(content),
        usage=_parse_usage(usage),
        model=str(message.get("model") or ""),
        stop_reason="" if stop_reason in NORMAL_STOP_REASONS else stop_reason,
        cost=parse_cost(dict_or_empty(usage.get("cost")).get("total")),
        requested_at=parse_time(message.get("timestamp")),
    )
    builder.complete_reply()
    if stop_reason in ERROR_REASONS:
        reason = str(message.get("errorMessage") or ERROR_REASONS[stop_reason])
        if stop_reason == "error":
            builder.fail_run(reason, at)
        else:
            builder.stop_run(reason, at)


def _parse_calls(content: Any) -> list[ForeignCall]:
    return [
        ForeignCall(str(part.get("id") or ""), str(part.get("name") or "tool"), arguments_json(part.get("arguments")))
        for part in dicts(content)
        if part.get("type") == "toolCall"
    ]


def _parse_usage(usage: dict[str, Any]) -> Usage:
    return read_usage(
        usage,
        input="input",
        output="output",
        cache_read="cacheRead",
        cache_write="cacheWrite",
        input_excludes_cache=True,
    )


def _add_command(message: dict[str, Any], at: int, call_id: str, builder: SessionBuilder) -> None:
    """Add a command that the user, not the agent, ran by typing `!` before it."""
    command = str(message.get("command") or "")
    exit_code = parse_exit_code(message.get("exitCode"))
    builder.add_user_message(f"!{command}", at)
    builder.add_reply(at=at, calls=[ForeignCall(call_id, "bash", arguments_json({"command": command}))])
    builder.add_result(
        call_id,
        str(message.get("output") or ""),
        at=at,
        failed=bool(exit_code) or message.get("cancelled") is True,
        exit_code=exit_code,
    )
