"""Writes a comparison of two sessions as Markdown, CSV or JSON."""

import csv
import io
import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from core.domain.clock import SECOND
from core.domain.sessions import SessionRow
from core.domain.steps import Step, verb
from core.domain.visible import visible
from core.exchange.exporters.untrusted_markdown import plain_line
from core.timeline.run_alignment import AlignedPair, Alignment, RunTotals
from core.timeline.usage_export import escape_formulas
from core.timeline.used_knowledge import UsedKnowledge

Redact = Callable[[str], str]
SessionPair = tuple[SessionRow, SessionRow]
COLUMNS: Final = ("step", "kind", "object", "status", "seconds", "tokens")


def to_markdown(rows: SessionPair, alignment: Alignment, redact: Redact) -> str:
    """Return the comparison as Markdown: totals, memories and skills that only one session had, and paired steps."""
    names = [plain_line(redact(row.title or row.id)) for row in rows]
    lines = [f"# {names[0]} and {names[1]}", "", f"| | {names[0]} | {names[1]} |", "|---|---|---|"]
    left, right = _totals(rows[0], alignment.a), _totals(rows[1], alignment.b)
    lines += [f"| {name} | {plain_line(left[name])} | {plain_line(right[name])} |" for name in left]
    lines += ["", f"Equal steps: {alignment.equal} of {len(alignment.pairs)}."]
    for name, unique in zip(names, unique_knowledge(alignment), strict=True):
        lines += [f"- Only in {name}: {plain_line(redact(entry))}" for entry in unique]
    lines += ["", f"| | {names[0]} | {names[1]} |", "|---|---|---|"]
    for index, pair in enumerate(alignment.pairs):
        if index == alignment.first_difference:
            result = "first difference"
        elif pair.equal and pair.same_status:
            result = ""
        else:
            result = "differs"
        lines.append(f"| {result} | {_step_cell(pair.a, redact)} | {_step_cell(pair.b, redact)} |")
    return "\n".join(lines) + "\n"


def to_csv(rows: SessionPair, alignment: Alignment, redact: Redact) -> str:
    """Return the comparison as CSV, one row for each pair of steps."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["equal", *(f"{side}_{name}" for side in ("left", "right") for name in COLUMNS)])
    for pair in alignment.pairs:
        cells = [visible(str(value)) for step in (pair.a, pair.b) for value in _column_values(step, redact)]
        writer.writerow(["yes" if pair.equal else "no", *escape_formulas(cells)])
    return text.getvalue()


def to_json(rows: SessionPair, alignment: Alignment, redact: Redact) -> str:
    """Return the whole comparison as JSON."""
    unique = unique_knowledge(alignment)
    document = {
        "sessions": [
            {"session": row.id, "title": redact(row.title), "status": row.status, "only_here": list(map(redact, only))}
            | _totals(row, totals)
            for row, totals, only in zip(rows, (alignment.a, alignment.b), unique, strict=True)
        ],
        "equal": alignment.equal,
        "first_difference": alignment.first_difference,
        "pairs": [_pair_values(pair, redact) for pair in alignment.pairs],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


COMPARISON_FORMATS: Final[Mapping[str, Callable[[SessionPair, Alignment, Redact], str]]] = MappingProxyType(
    {"md": to_markdown, "csv": to_csv, "json": to_json}
)


def _totals(row: SessionRow, totals: RunTotals) -> dict[str, str]:
    """Return the value of each total by its label. An unknown cost is shown as unknown, not as zero."""
    return {
        "model": row.model,
        "status": row.status,
        "steps": str(totals.steps),
        "failed steps": str(totals.failed),
        "seconds": f"{totals.seconds:.1f}",
        "tokens": str(totals.tokens),
        "cost (USD)": "unknown" if totals.cost is None else f"{totals.cost:.4f}",
    }


def unique_knowledge(alignment: Alignment) -> tuple[list[str], list[str]]:
    """Return two lists: the memories and skills that only the first session had, and those only the second had."""
    only_first = alignment.used_a.without(alignment.used_b)
    only_second = alignment.used_b.without(alignment.used_a)
    return _describe(only_first), _describe(only_second)


def _describe(knowledge: UsedKnowledge) -> list[str]:
    memories = [f"the memory “{text}”" for text in knowledge.memories.values()]
    return memories + [f"the skill {name}, version {version}" for name, version in knowledge.skills.items()]


def _step_cell(step: Step | None, redact: Redact) -> str:
    if step is None:
        return "—"
    return plain_line(f"{step.number} {verb(step.kind, step.status)} {redact(step.object)} ({step.status})")


def _column_values(step: Step | None, redact: Redact) -> tuple[object, ...]:
    if step is None:
        return ("",) * len(COLUMNS)
    return step.number, step.kind, redact(step.object), step.status, f"{_seconds(step):.3f}", step.tokens


def _pair_values(pair: AlignedPair, redact: Redact) -> dict[str, Any]:
    cells = {
        name: dict(zip(COLUMNS, _column_values(step, redact), strict=True)) if step else None
        for name, step in (("left", pair.a), ("right", pair.b))
    }
    return {"equal": pair.equal, **cells}


def _seconds(step: Step) -> float:
    return max(0, step.ended_at - step.started_at) / SECOND if step.ended_at else 0.0
