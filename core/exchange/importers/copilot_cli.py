"""Imports Copilot CLI sessions, which are JSON Lines files of events."""

from collections.abc import Iterator
from dataclasses import dataclass
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
    parse_exit_code,
    parse_time,
    plain_path,
    read_lines,
    read_usage,
)
from core.exchange.importers.session_builder import SessionBuilder

WITHOUT_CONTENT = frozenset({"assistant.turn_start", "assistant.turn_end", "tool.execution_start"})


@dataclass(slots=True)
class _UsageState:
    """Whether the current Copilot process has recorded the token usage of its replies."""

    is_recorded: bool = False


class CopilotCliImporter:
    """Converts the events of a session.

    A usage record precedes the reply that it counts. Older versions only report the total when the process ends.
    """

    agent = "Copilot CLI"
    default_locations: tuple[str, ...] = (".copilot/session-state/*/events.jsonl",)

    def recognizes(self, path: Path, head: bytes) -> bool:
        first = next(head_records(head), {})
        return first.get("type") == "session.start" and "copilotVersion" in dict_or_empty(first.get("data"))

    def read_records(self, path: Path) -> Iterator[TranscriptRecord]:
        for file, key in self._files(path):
            yield from read_lines(file, key)

    def follow(self, path: Path) -> ReadNewRecords:
        return AppendedLines(lambda: self._files(path))

    def _files(self, path: Path) -> SessionFiles:
        stem = plain_path(path).stem
        return [(path, path.parent.name if stem == "events" else stem)]

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        event = dict_or_empty(record.value)
        data = event.get("data")
        if not isinstance(data, dict):
            return False
        kind = str(event.get("type") or "")
        at = parse_time(event.get("timestamp"))
        if kind in WITHOUT_CONTENT:
            return True
        if kind.startswith(("session.", "abort")):
            return _add_session_event(kind, data, at, builder)
        return _add_message(kind, data, at, builder)


def _add_message(kind: str, data: dict[str, Any], at: int, builder: SessionBuilder) -> bool:
    match kind:
        case "user.message":
            builder.add_user_message(str(data.get("content") or ""), at)
        case "assistant.message":
            builder.add_reply(
                str(data.get("content") or ""),
                at=at,
                reasoning=str(data.get("reasoningText") or ""),
                calls=_parse_calls(data.get("toolRequests")),
                model=str(data.get("model") or ""),
            )
        case "tool.execution_complete":
            _add_result(data, at, builder)
        case _:
            return False
    return True


def _parse_calls(requests: Any) -> list[ForeignCall]:
    return [
        ForeignCall(
            str(request.get("toolCallId") or ""),
            str(request.get("name") or "tool"),
            arguments_json(request.get("arguments")),
        )
        for request in dicts(requests)
    ]


def _add_result(data: dict[str, Any], at: int, builder: SessionBuilder) -> None:
    result = dict_or_empty(data.get("result"))
    error = dict_or_empty(data.get("error"))
    command = dict_or_empty(data.get("shellExecution"))
    builder.add_result(
        str(data.get("toolCallId") or ""),
        output_text(result.get("content") or error.get("message") or ""),
        at=at,
        failed=data.get("success") is False,
        exit_code=parse_exit_code(command.get("exitCode")),
    )


def _add_session_event(kind: str, data: dict[str, Any], at: int, builder: SessionBuilder) -> bool:
    match kind:
        case "session.start" | "session.resume":
            builder.latest = max(builder.latest, at)
            builder.state(_UsageState).is_recorded = False
            context = dict_or_empty(data.get("context"))
            builder.set_details(folder=str(context.get("cwd") or ""), model=str(data.get("selectedModel") or ""))
        case "session.model_change":
            builder.set_details(model=str(data.get("newModel") or ""))
        case "session.title_changed":
            builder.set_details(title=str(data.get("title") or ""))
        case "session.usage_record":
            builder.state(_UsageState).is_recorded = True
            builder.complete_reply()  # a usage record counts the reply that follows it
            builder.add_usage(_parse_usage(dict_or_empty(data.get("usage"))))
        case "session.shutdown":
            _add_total_usage(data, builder)
        case "session.compaction_complete":
            before = parse_count(data.get("preCompactionTokens"))
            summary = str(data.get("summaryContent") or "")
            builder.add_compaction("compacted by Copilot CLI", summary, before, at=at)
        case "session.error":
            builder.fail_run(str(data.get("message") or "the session failed"), at)
        case "abort":
            builder.stop_run(str(data.get("reason") or "aborted"), at)
        case _:
            return False
    return True


def _add_total_usage(data: dict[str, Any], builder: SessionBuilder) -> None:
    """Add the total that a process reports when it ends, unless it has recorded the usage of each reply."""
    state = builder.state(_UsageState)
    if not state.is_recorded:
        for metrics in dict_or_empty(data.get("modelMetrics")).values():
            builder.add_usage(_parse_usage(dict_or_empty(dict_or_empty(metrics).get("usage"))))
    state.is_recorded = False


def _parse_usage(usage: dict[str, Any]) -> Usage:
    return read_usage(
        usage,
        input="inputTokens",
        output="outputTokens",
        cache_read="cacheReadTokens",
        cache_write="cacheWriteTokens",
        reasoning="reasoningTokens",
    )
