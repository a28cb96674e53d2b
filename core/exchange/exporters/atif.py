"""Exports a session as an ATIF v1.8 trajectory with embedded sub-agents, for evaluation and training."""

import json
from collections.abc import Iterator
from typing import Any

from core.domain.sessions import SessionRow
from core.exchange.export_items import (
    ExportItem,
    NoteItem,
    ReplyItem,
    ToolCallItem,
    UserMessageItem,
    call_arguments,
    group_events,
)
from core.exchange.export_source import ExportSource
from core.exchange.exporters.time_formats import iso_time

VERSION = "ATIF-v1.8"
Plain = dict[str, Any]


def write(source: ExportSource) -> Iterator[str]:
    """Yield one JSON document in pieces, so that a long session is never held in memory as a whole."""
    for index, chunk in enumerate(_trajectory(source, source.root)):
        yield chunk if index else chunk.lstrip()
    yield "\n"


def _trajectory(source: ExportSource, row: SessionRow) -> Iterator[str]:
    header = {
        "schema_version": VERSION,
        "session_id": row.id,
        "trajectory_id": row.id,
        "agent": {"name": row.subagent or "journeyman", "version": "1", "model_name": row.model or "unknown"},
        "extra": {"title": row.title, "cwd": row.folder},
    }
    yield json.dumps(header, ensure_ascii=False)[:-1] + ', "steps": ['
    step_count = 0
    tokens = {"total_prompt_tokens": 0, "total_completion_tokens": 0, "total_cached_tokens": 0}
    cost = 0.0
    for item in group_events(source.events(row)):
        if (step := _step(item, source)) is None:
            continue
        step_count += 1
        if isinstance(item, ReplyItem):
            tokens["total_prompt_tokens"] += item.usage.input
            tokens["total_completion_tokens"] += item.usage.output
            tokens["total_cached_tokens"] += item.usage.cache_read
            cost += item.cost or 0.0
        yield ("," if step_count > 1 else "") + json.dumps({"step_id": step_count, **step}, ensure_ascii=False)
    yield "]"
    if children := source.children(row.id):
        yield ', "subagent_trajectories": ['
        for index, child in enumerate(children):
            yield "," if index else ""
            yield from _trajectory(source, child)
        yield "]"
    totals = {**tokens, "total_cost_usd": round(cost, 9), "total_steps": step_count}
    yield f', "final_metrics": {json.dumps(totals)}}}'


def _step(item: ExportItem, source: ExportSource) -> Plain | None:
    match item:
        case UserMessageItem(at=at, text=text):
            return {"timestamp": iso_time(at), "source": "user", "message": text}
        case NoteItem(at=at, text=text):
            return {"timestamp": iso_time(at), "source": "system", "message": text}
        case ReplyItem():
            return _reply(item, source)
        case _:
            return None


def _reply(item: ReplyItem, source: ExportSource) -> Plain:
    usage = item.usage
    metrics: Plain = {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "cached_tokens": usage.cache_read,
        **({} if item.cost is None else {"cost_usd": item.cost}),
        **({"extra": {"reasoning_tokens": usage.reasoning}} if usage.reasoning else {}),
    }
    step: Plain = {
        "timestamp": iso_time(item.at),
        "source": "agent",
        "model_name": item.model or "unknown",
        "message": item.text,
        "metrics": metrics,
        "llm_call_count": 1,
    }
    if item.reasoning:
        step["reasoning_content"] = item.reasoning
    if item.calls:
        step["tool_calls"] = [
            {"tool_call_id": call.call.id, "function_name": call.call.tool, "arguments": call_arguments(call.call)}
            for call in item.calls
        ]
        if results := [_result(call, source) for call in item.calls if call.status != "open" or call.child_session]:
            step["observation"] = {"results": results}
    return step


def _result(call: ToolCallItem, source: ExportSource) -> Plain:
    extra: Plain = {"timestamp": iso_time(call.ended)} if call.ended else {}
    if call.status in ("failed", "refused"):
        extra["failed"] = True
    if call.exit_code is not None:
        extra["exit_code"] = call.exit_code
    result: Plain = {"source_call_id": call.call.id, "content": call.answer if call.question else call.output}
    if call.child_session and any(row.id == call.child_session for row in source.sessions):
        extra["called"] = call.subagent
        result["subagent_trajectory_ref"] = [{"trajectory_id": call.child_session, "session_id": call.child_session}]
    return {**result, "extra": extra} if extra else result
