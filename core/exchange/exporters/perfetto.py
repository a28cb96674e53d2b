"""A trace for ui.perfetto.dev and other viewers of traces: each step a slice, each session a track group."""

import json
from collections.abc import Iterator
from typing import Any

from core.domain.sessions import SessionRow
from core.domain.steps import Step, verb
from core.exchange.leaving import Leaving

LANES = 64  # steps at a time; more share the last one


def write(leaving: Leaving) -> Iterator[str]:
    """The JSON form of the trace event format. A session is a process, and what goes on at once gets lanes."""
    yield '{"displayTimeUnit":"ms","traceEvents":[\n'
    first = True
    for process, row in enumerate(leaving.family, 1):
        for event in _events(leaving, row, process):
            yield ("" if first else ",\n") + json.dumps(event, ensure_ascii=False)
            first = False
    yield "\n]}\n"


def _events(leaving: Leaving, row: SessionRow, process: int) -> Iterator[dict[str, Any]]:
    name = leaving.cleaner.text(row.called or row.title) or row.id
    yield {"ph": "M", "pid": process, "tid": 0, "name": "process_name", "args": {"name": f"{name} ({row.id})"}}
    yield {"ph": "M", "pid": process, "tid": 0, "name": "process_sort_index", "args": {"sort_index": process}}
    ends: list[int] = []
    for step in leaving.steps(row):
        if step.kind == "end":
            continue
        began, ended = step.began, max(step.ended or row.updated, step.began)
        lane = 0 if step.kind == "run" else _lane(ends, began, ended) + 1
        if lane and len(ends) == lane and ends[lane - 1] == ended:
            named = {"name": "steps" if lane == 1 else f"steps {lane}"}
            yield {"ph": "M", "pid": process, "tid": lane, "name": "thread_name", "args": named}
        yield _slice(step, row, process, lane, began, ended)
    yield {"ph": "M", "pid": process, "tid": 0, "name": "thread_name", "args": {"name": "runs"}}


def _slice(step: Step, row: SessionRow, process: int, lane: int, began: int, ended: int) -> dict[str, Any]:
    words = f"{verb(step.kind, step.status)} {step.object}".strip()
    args: dict[str, Any] = {"status": step.status, "session": row.id, "entries": f"{step.first} to {step.last}"}
    args |= {"step": step.number} if step.number else {}
    args |= {"tokens": step.tokens} if step.tokens else {}
    args |= {"cost_usd": step.cost} if step.cost else {}
    args |= dict(step.marks)
    place = {"pid": process, "tid": lane, "cat": step.kind, "name": words or step.kind, "ts": began}
    return {"ph": "X", **place, "dur": ended - began, "args": args}


def _lane(ends: list[int], began: int, ended: int) -> int:
    """The first lane that is free by then: slices of one lane must not overlap."""
    for lane, end in enumerate(ends):
        if end <= began:
            ends[lane] = ended
            return lane
    if len(ends) < LANES:
        ends.append(ended)
        return len(ends) - 1
    ends[-1] = max(ends[-1], ended)
    return LANES - 1
