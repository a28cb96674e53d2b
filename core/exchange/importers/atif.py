"""Imports ATIF trajectories, JSON documents with embedded sub-agent trajectories."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.domain.events import Usage
from core.exchange.importers.foreign_call import ForeignCall, plain_text
from core.exchange.importers.message_parts import arguments_json, dict_or_empty, dicts, list_or_empty
from core.exchange.importers.record import (
    OpenSession,
    SessionDetails,
    TranscriptRecord,
    derive_key,
    details_record,
    list_records,
    parse_cost,
    parse_count,
    parse_exit_code,
    parse_time,
    read_document,
)
from core.exchange.importers.session_builder import SessionBuilder, SubagentCall


class AtifImporter:
    """Yields one record for the header of each trajectory and one for each of its steps."""

    agent = "ATIF"
    default_locations: tuple[str, ...] = ()

    def recognizes(self, path: Path, head: bytes) -> bool:
        return b'"schema_version"' in head and b'"ATIF-v' in head

    def read_records(self, path: Path) -> Iterator[TranscriptRecord]:
        document = read_document(path)
        key = str(document.get("trajectory_id") or document.get("session_id") or derive_key(path))
        yield from _read_trajectory(document, key, path.stat().st_size)

    def convert(self, record: TranscriptRecord, builder: SessionBuilder, open_session: OpenSession) -> bool:
        data = record.value
        if isinstance(data, SessionDetails):
            _set_details(data.values, builder, open_session)
            return True
        if not isinstance(data, dict):
            return False
        at = parse_time(data.get("timestamp"))
        match data.get("source"):
            case "user":
                builder.add_user_message(plain_text(data.get("message")), at)
            case "agent":
                _add_agent_step(data, at, builder, open_session)
            case _:
                return False
        return True


def _read_trajectory(document: dict[str, Any], key: str, size: int, parent: str = "") -> Iterator[TranscriptRecord]:
    steps = document.get("steps")
    times = (step.get("timestamp") for step in dicts(steps))
    details = {
        "agent": document.get("agent"),
        "extra": document.get("extra"),
        "started_at": next(filter(None, times), None),
        "parent": parent,
    }
    yield details_record(key, details)
    yield from list_records(key, list_or_empty(steps), file_bytes=size)
    for number, subagent in enumerate(dicts(document.get("subagent_trajectories")), 1):
        subagent_id = subagent.get("trajectory_id") or f"sub-agent {number}"
        yield from _read_trajectory(subagent, f"{key}/{subagent_id}", size, parent=key)


def _set_details(data: dict[str, Any], builder: SessionBuilder, open_session: OpenSession) -> None:
    agent = dict_or_empty(data.get("agent"))
    extra = dict_or_empty(data.get("extra"))
    builder.set_details(
        folder=str(extra.get("cwd") or ""),
        title=str(extra.get("title") or ""),
        model=str(agent.get("model_name") or ""),
    )
    builder.latest = max(builder.latest, parse_time(data.get("started_at")))
    if parent := data.get("parent"):
        call = open_session(parent).subagent_call(builder.key)
        builder.set_parent(parent, SubagentCall(call.id, str(agent.get("name") or "agent")))


def _add_agent_step(data: dict[str, Any], at: int, builder: SessionBuilder, open_session: OpenSession) -> None:
    metrics = dict_or_empty(data.get("metrics"))
    extra = dict_or_empty(metrics.get("extra"))
    calls = [
        ForeignCall(
            str(call.get("tool_call_id") or f"step {builder.record_count} call {index}"),
            str(call.get("function_name") or "tool"),
            arguments_json(call.get("arguments")),
        )
        for index, call in enumerate(dicts(data.get("tool_calls")))
    ]
    called_model = data.get("llm_call_count") != 0
    if called_model or calls or data.get("message"):
        builder.add_reply(
            plain_text(data.get("message")),
            at=at,
            reasoning=str(data.get("reasoning_content") or ""),
            calls=calls,
            usage=Usage(
                input=parse_count(metrics.get("prompt_tokens")),
                output=parse_count(metrics.get("completion_tokens")),
                cache_read=parse_count(metrics.get("cached_tokens")),
                reasoning=parse_count(extra.get("reasoning_tokens")),
            ),
            model=str(data.get("model_name") or ""),
            cost=parse_cost(metrics.get("cost_usd")),
        )
    results = dicts(dict_or_empty(data.get("observation")).get("results"))
    for index, result in enumerate(results):
        call_id = calls[index].id if index < len(calls) else f"step {builder.record_count} result {index}"
        _add_result(result, str(result.get("source_call_id") or call_id), builder)


def _add_result(result: dict[str, Any], call_id: str, builder: SessionBuilder) -> None:
    extra = dict_or_empty(result.get("extra"))
    for reference in dicts(result.get("subagent_trajectory_ref")):
        if trajectory_id := reference.get("trajectory_id"):
            child = f"{builder.key}/{trajectory_id}"
            builder.start_subagent(call_id, child, str(extra.get("called") or "agent"))
            builder.end_subagent(call_id, child, "completed")
    builder.add_result(
        call_id,
        plain_text(result.get("content")),
        at=parse_time(extra.get("timestamp")),
        failed=extra.get("failed") is True,
        exit_code=parse_exit_code(extra.get("exit_code")),
    )
