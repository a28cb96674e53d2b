"""ATIF v1.8: the session as one trajectory, its sub-agents inside, for programs that learn from or judge runs."""

import json
from collections.abc import Iterator
from typing import Any

from core.domain.sessions import SessionRow
from core.exchange.exporters.moments import iso
from core.exchange.leaving import Leaving
from core.exchange.story import Act, Answered, Noted, Spoke, Told, arguments_of, retold

VERSION = "ATIF-v1.8"
Plain = dict[str, Any]


def write(leaving: Leaving) -> Iterator[str]:
    """One document. Its parts are made one after the other, so that a long session is never held as a whole."""
    for place, piece in enumerate(_trajectory(leaving, leaving.root)):
        yield piece if place else piece.lstrip()
    yield "\n"


def _trajectory(leaving: Leaving, row: SessionRow) -> Iterator[str]:
    head = {
        "schema_version": VERSION,
        "session_id": row.id,
        "trajectory_id": row.id,
        "agent": {"name": row.called or "journeyman", "version": "1", "model_name": row.model or "unknown"},
        "extra": {"title": leaving.cleaner.text(row.title), "cwd": leaving.cleaner.text(row.folder)},
    }
    yield json.dumps(head, ensure_ascii=False)[:-1] + ', "steps": ['
    number, total = 0, {"total_prompt_tokens": 0, "total_completion_tokens": 0, "total_cached_tokens": 0}
    cost = 0.0
    for told in retold(leaving.entries(row)):
        if (step := _step(told, leaving)) is None:
            continue
        number += 1
        if isinstance(told, Answered):
            total["total_prompt_tokens"] += told.usage.input
            total["total_completion_tokens"] += told.usage.output
            total["total_cached_tokens"] += told.usage.cached
            cost += told.cost or 0.0
        yield ("," if number > 1 else "") + json.dumps({"step_id": number, **step}, ensure_ascii=False)
    yield "]"
    if children := leaving.children(row.id):
        yield ', "subagent_trajectories": ['
        for place, child in enumerate(children):
            yield "," if place else ""
            yield from _trajectory(leaving, child)
        yield "]"
    final = {**total, "total_cost_usd": round(cost, 9), "total_steps": number}
    yield f', "final_metrics": {json.dumps(final)}}}'


def _step(told: Told, leaving: Leaving) -> Plain | None:
    match told:
        case Spoke(at=at, text=text):
            return {"timestamp": iso(at), "source": "user", "message": text}
        case Noted(at=at, text=text):
            return {"timestamp": iso(at), "source": "system", "message": text}
        case Answered():
            return _reply(told, leaving)
        case _:
            return None


def _reply(told: Answered, leaving: Leaving) -> Plain:
    usage = told.usage
    metrics: Plain = {
        "prompt_tokens": usage.input, "completion_tokens": usage.output, "cached_tokens": usage.cached,
        **({} if told.cost is None else {"cost_usd": told.cost}),
        **({"extra": {"reasoning_tokens": usage.reasoning}} if usage.reasoning else {}),
    }  # fmt: skip
    step: Plain = {
        "timestamp": iso(told.at), "source": "agent", "model_name": told.model or "unknown", "message": told.text,
        "metrics": metrics, "llm_call_count": 1,
    }  # fmt: skip
    if told.reasoning:
        step["reasoning_content"] = told.reasoning
    if told.acts:
        step["tool_calls"] = [
            {"tool_call_id": act.call.id, "function_name": act.call.tool, "arguments": arguments_of(act.call)}
            for act in told.acts
        ]
        if results := [_result(act, leaving) for act in told.acts if act.status != "open" or act.child]:
            step["observation"] = {"results": results}
    return step


def _result(act: Act, leaving: Leaving) -> Plain:
    extra: Plain = {"timestamp": iso(act.ended)} if act.ended else {}
    if act.status in ("failed", "refused"):
        extra["failed"] = True
    if act.exit_code is not None:
        extra["exit_code"] = act.exit_code
    result: Plain = {"source_call_id": act.call.id, "content": act.answer if act.asked else act.output}
    if act.child and any(row.id == act.child for row in leaving.family):
        extra["called"] = act.called
        result["subagent_trajectory_ref"] = [{"trajectory_id": act.child, "session_id": act.child}]
    return {**result, "extra": extra} if extra else result
