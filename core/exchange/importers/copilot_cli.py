"""Imports Copilot CLI sessions, which are JSON Lines files of events."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.domain.events import Usage
from core.exchange.importers.followable import AppendedLines, ReadNewRecords
from core.exchange.importers.foreign_call import ForeignCall
from core.exchange.importers.message_parts import arguments_json, dict_or_empty
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
        data = first.get("data")
        return first.get("type") == "session.start" and isinstance(data, dict) and "copilotVersion" in data

    def read_records(self, path: Path) -> Iterator[TranscriptRecord]:
        for file, key in self._files(path):
            yield from read_lines(file, key)

    def follow(self, path: Path) -> ReadNewRecords:
        return AppendedLines(lambda: self._files(path))

    def _files(self, path: Path) -> SessionFiles:
        stem = plain_path(path).stem
        return [(path, path.parent.name if stem == "events" else stem)]

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        event = record.value
        data = event.get("data") if isinstance(event, dict) else None
        if not isinstance(event, dict) or not isinstance(data, dict):
            return False
        kind, at = str(event.get("type") or ""), parse_time(event.get("timestamp"))
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
                str(data.get("content") or ""), at=at, reasoning=str(data.get("reasoningText") or ""),
                calls=_calls(data.get("toolRequests")), model=str(data.get("model") or ""),
            )  # fmt: skip
        case "tool.execution_complete":
            _add_result(data, at, builder)
        case _:
            return False
    return True


def _calls(requests: Any) -> list[ForeignCall]:
    return [
        ForeignCall(
            str(request.get("toolCallId") or ""), str(request.get("name") or "tool"),
            arguments_json(request.get("arguments")),
        )
        for request in (requests if isinstance(requests, list) else [])
        if isinstance(request, dict)
    ]  # fmt: skip


def _add_result(data: dict[str, Any], at: int, builder: SessionBuilder) -> None:
    result, error, shell = (dict_or_empty(data.get(name)) for name in ("result", "error", "shellExecution"))
    output, code = result.get("content") or error.get("message") or "", shell.get("exitCode")
    builder.add_result(
        str(data.get("toolCallId") or ""), output if isinstance(output, str) else arguments_json(output), at=at,
        failed=data.get("success") is False, exit_code=code if isinstance(code, int) else None,
    )  # fmt: skip


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
            return _add_total(data, builder)
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


def _add_total(data: dict[str, Any], builder: SessionBuilder) -> bool:
    """Add the total that a process reports when it ends, unless it has recorded the usage of each reply."""
    metrics = dict_or_empty(data.get("modelMetrics"))
    state = builder.state(_UsageState)
    was_recorded, state.is_recorded = state.is_recorded, False
    if was_recorded:
        return True
    for model in metrics.values():
        builder.add_usage(_parse_usage(dict_or_empty(dict_or_empty(model).get("usage"))))
    return True


def _parse_usage(usage: dict[str, Any]) -> Usage:
    names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "reasoningTokens")
    return Usage(*(parse_count(usage.get(name)) for name in names))
