"""Exports a session as a Chrome trace for ui.perfetto.dev: each session is a process, each step a slice."""

import json
from collections.abc import Iterator
from typing import Any

from core.domain.sessions import SessionRow
from core.domain.steps import Step, verb
from core.exchange.export_source import ExportSource

MAX_LANES = 64  # how many concurrent steps get a thread of their own in the trace; further steps share the last thread


def write(source: ExportSource) -> Iterator[str]:
    """Yield a document in the JSON trace event format. Concurrent steps of a session go to separate threads."""
    yield '{"displayTimeUnit":"ms","traceEvents":[\n'
    first = True
    for process, row in enumerate(source.sessions, 1):
        for event in _events(source, row, process):
            yield ("" if first else ",\n") + json.dumps(event, ensure_ascii=False)
            first = False
    yield "\n]}\n"


def _events(source: ExportSource, row: SessionRow, process: int) -> Iterator[dict[str, Any]]:
    name = (row.subagent or row.title) or row.id
    yield {"ph": "M", "pid": process, "tid": 0, "name": "process_name", "args": {"name": f"{name} ({row.id})"}}
    yield {"ph": "M", "pid": process, "tid": 0, "name": "process_sort_index", "args": {"sort_index": process}}
    ends: list[int] = []
    for step in source.steps(row):
        if step.kind == "end":
            continue
        started = step.started_at
        ended = max(step.ended_at or row.updated_at, started)
        lane = 0 if step.kind == "run" else _lane(ends, started, ended) + 1
        if lane and len(ends) == lane and ends[lane - 1] == ended:
            thread = {"name": "steps" if lane == 1 else f"steps {lane}"}
            yield {"ph": "M", "pid": process, "tid": lane, "name": "thread_name", "args": thread}
        yield _slice(step, row, process, lane, started, ended)
    yield {"ph": "M", "pid": process, "tid": 0, "name": "thread_name", "args": {"name": "runs"}}


def _slice(step: Step, row: SessionRow, process: int, lane: int, started: int, ended: int) -> dict[str, Any]:
    label = f"{verb(step.kind, step.status)} {step.object}".strip()
    args: dict[str, Any] = {"status": step.status, "session": row.id, "events": f"{step.first_seq} to {step.last_seq}"}
    args |= {"step": step.number} if step.number else {}
    args |= {"tokens": step.tokens} if step.tokens else {}
    args |= {"cost_usd": step.cost} if step.cost else {}
    args |= dict(step.metrics)
    slot = {"pid": process, "tid": lane, "cat": step.kind, "name": label or step.kind, "ts": started}
    return {"ph": "X", **slot, "dur": ended - started, "args": args}


def _lane(ends: list[int], started: int, ended: int) -> int:
    """Return the number of a thread that is free at `started`, or else the last, and mark it used until `ended`.

    Slices of the same thread must not overlap. `ends` holds the time at which each thread becomes free.
    """
    for lane, end in enumerate(ends):
        if end <= started:
            ends[lane] = ended
            return lane
    if len(ends) < MAX_LANES:
        ends.append(ended)
        return len(ends) - 1
    ends[-1] = max(ends[-1], ended)
    return MAX_LANES - 1
