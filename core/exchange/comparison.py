"""Writes a comparison of two sessions as Markdown, CSV or JSON."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from core.domain.clock import SECOND
from core.domain.sessions import SessionRow
from core.domain.steps import Step, verb
from core.domain.visible import visible
from core.exchange.exporters.untrusted_markdown import plain_line
from core.timeline.run_alignment import AlignedPair, Alignment, RunTotals
from core.timeline.usage_totals import escape_formulas
from core.timeline.used_knowledge import UsedKnowledge

Redact = Callable[[str], str]
SessionPair = tuple[SessionRow, SessionRow]
COLUMNS: Final = ("step", "kind", "object", "status", "seconds", "tokens")


def to_markdown(sides: SessionPair, found: Alignment, clean: Redact) -> str:
    """Return the comparison as Markdown: totals, memories and skills that only one session had, and paired steps."""
    names = [plain_line(clean(row.title or row.id)) for row in sides]
    lines = [f"# {names[0]} and {names[1]}", "", f"| | {names[0]} | {names[1]} |", "|---|---|---|"]
    figures = zip(_figures(sides[0], found.a), _figures(sides[1], found.b), strict=True)
    lines += [f"| {name} | {plain_line(one)} | {plain_line(other)} |" for (name, one), (_, other) in figures]
    lines += ["", f"{found.equal} of {len(found.pairs)} steps are equal."]
    for name, had in zip(names, _only(found), strict=True):
        lines += [f"- Only in {name}: {plain_line(clean(what))}" for what in had]
    lines += ["", f"| | {names[0]} | {names[1]} |", "|---|---|---|"]
    for place, pair in enumerate(found.pairs):
        mark = (
            "first difference"
            if place == found.first_difference
            else ""
            if pair.equal and pair.same_status
            else "differs"
        )
        lines.append(f"| {mark} | {_step_cell(pair.a, clean)} | {_step_cell(pair.b, clean)} |")
    return "\n".join(lines) + "\n"


def to_csv(sides: SessionPair, found: Alignment, clean: Redact) -> str:
    """Return the comparison as CSV, one row for each pair of steps."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["equal", *(f"{side}_{name}" for side in ("left", "right") for name in COLUMNS)])
    for pair in found.pairs:
        cells = [visible(str(value)) for step in (pair.a, pair.b) for value in _values(step, clean)]
        writer.writerow(["yes" if pair.equal else "no", *escape_formulas(cells)])
    return text.getvalue()


def to_json(sides: SessionPair, found: Alignment, clean: Redact) -> str:
    """Return the whole comparison as JSON."""
    had = _only(found)
    whole = {
        "sessions": [
            {"session": row.id, "title": clean(row.title), "status": row.status, "only_here": list(map(clean, only))}
            | dict(_figures(row, totals))
            for row, totals, only in zip(sides, (found.a, found.b), had, strict=True)
        ],
        "equal": found.equal,
        "first_difference": found.first_difference,
        "pairs": [_pair(pair, clean) for pair in found.pairs],
    }
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


COMPARISON_FORMATS: Final[Mapping[str, Callable[[SessionPair, Alignment, Redact], str]]] = MappingProxyType(
    {"md": to_markdown, "csv": to_csv, "json": to_json}
)


def _figures(row: SessionRow, totals: RunTotals) -> Iterator[tuple[str, str]]:
    """Yield the label and value of each total. An unknown cost is shown as unknown, not as zero."""
    yield "model", row.model
    yield "status", row.status
    yield "steps", str(totals.steps)
    yield "failed steps", str(totals.failed)
    yield "seconds", f"{totals.seconds:.1f}"
    yield "tokens", str(totals.tokens)
    yield "cost (USD)", f"{totals.cost:.4f}" if row.cost else "unknown"


def _only(found: Alignment) -> tuple[list[str], list[str]]:
    """Return two lists: the memories and skills that only the first session had, and those only the second had."""
    a, b = found.used_a.without(found.used_b), found.used_b.without(found.used_a)
    return _describe(a), _describe(b)


def _describe(learnt: UsedKnowledge) -> list[str]:
    memories = [f"the memory “{text}”" for text in learnt.memories.values()]
    return memories + [f"the skill {name}, version {version}" for name, version in learnt.skills.items()]


def _step_cell(step: Step | None, clean: Redact) -> str:
    if step is None:
        return "—"
    return plain_line(f"{step.number} {verb(step.kind, step.status)} {clean(step.object)} ({step.status})")


def _values(step: Step | None, clean: Redact) -> tuple[object, ...]:
    if step is None:
        return ("",) * len(COLUMNS)
    return step.number, step.kind, clean(step.object), step.status, f"{_seconds(step):.3f}", step.tokens


def _pair(pair: AlignedPair, clean: Redact) -> dict[str, Any]:
    sides = {
        name: dict(zip(COLUMNS, _values(step, clean), strict=True)) if step else None
        for name, step in (("left", pair.a), ("right", pair.b))
    }
    return {"equal": pair.equal, **sides}


def _seconds(step: Step) -> float:
    return max(0, step.ended_at - step.started_at) / SECOND if step.ended_at else 0.0
