"""Two sessions side by side, written for a person, a table program or another program."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from core.domain.clock import SECOND
from core.domain.sessions import SessionRow
from core.domain.steps import Step, verb
from core.timeline.align import Alignment, Pair, Totals
from core.timeline.learnt import Learnt
from core.timeline.spending import harmless

Clean = Callable[[str], str]
Sides = tuple[SessionRow, SessionRow]
COLUMNS: Final = ("step", "kind", "object", "status", "seconds", "tokens")


def markdown(sides: Sides, found: Alignment, clean: Clean) -> str:
    """What each came to, what only one of them had, and the steps beside each other."""
    names = [_cell(clean(row.title or row.id)) for row in sides]
    lines = [f"# {names[0]} and {names[1]}", "", f"| | {names[0]} | {names[1]} |", "|---|---|---|"]
    figures = zip(_figures(sides[0], found.a), _figures(sides[1], found.b), strict=True)
    lines += [f"| {name} | {_cell(one)} | {_cell(other)} |" for (name, one), (_, other) in figures]
    lines += ["", f"{found.equal} of {len(found.pairs)} steps are equal."]
    for name, had in zip(names, _only(found), strict=True):
        lines += [f"- Only in {name}: {_cell(clean(what))}" for what in had]
    lines += ["", f"| | {names[0]} | {names[1]} |", "|---|---|---|"]
    for place, pair in enumerate(found.pairs):
        mark = "first difference" if place == found.first else "" if pair.equal and pair.same_end else "differs"
        lines.append(f"| {mark} | {_said(pair.a, clean)} | {_said(pair.b, clean)} |")
    return "\n".join(lines) + "\n"


def table(sides: Sides, found: Alignment, clean: Clean) -> str:
    """A line for each pair of steps."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["equal", *(f"{side}_{name}" for side in ("left", "right") for name in COLUMNS)])
    for pair in found.pairs:
        cells = [str(value) for step in (pair.a, pair.b) for value in _values(step, clean)]
        writer.writerow(["yes" if pair.equal else "no", *harmless(cells)])
    return text.getvalue()


def plain(sides: Sides, found: Alignment, clean: Clean) -> str:
    """All of it, for another program."""
    had = _only(found)
    whole = {
        "sessions": [
            {"session": row.id, "title": clean(row.title), "status": row.status, "only_here": list(map(clean, only))}
            | dict(_figures(row, totals))
            for row, totals, only in zip(sides, (found.a, found.b), had, strict=True)
        ],
        "equal": found.equal,
        "first_difference": found.first,
        "pairs": [_pair(pair, clean) for pair in found.pairs],
    }
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


COMPARISONS: Final[Mapping[str, Callable[[Sides, Alignment, Clean], str]]] = MappingProxyType(
    {"md": markdown, "csv": table, "json": plain}
)


def _figures(row: SessionRow, totals: Totals) -> Iterator[tuple[str, str]]:
    """A cost that nobody knows stays unknown."""
    yield "model", row.model
    yield "ended", row.status
    yield "steps", str(totals.steps)
    yield "failed steps", str(totals.failed)
    yield "seconds", f"{totals.seconds:.1f}"
    yield "tokens", str(totals.tokens)
    yield "cost in dollars", f"{totals.cost:.4f}" if row.cost else "unknown"


def _only(found: Alignment) -> tuple[list[str], list[str]]:
    """What memory and skills each had that the other had not."""
    a, b = found.learnt_a.without(found.learnt_b), found.learnt_b.without(found.learnt_a)
    return _had(a), _had(b)


def _had(learnt: Learnt) -> list[str]:
    memories = [f"the memory “{text}”" for text in learnt.memories.values()]
    return memories + [f"the skill {name}, version {version}" for name, version in learnt.skills.items()]


def _said(step: Step | None, clean: Clean) -> str:
    if step is None:
        return "—"
    return _cell(f"{step.number} {verb(step.kind, step.status)} {clean(step.object)} ({step.status})")


def _values(step: Step | None, clean: Clean) -> tuple[object, ...]:
    if step is None:
        return ("",) * len(COLUMNS)
    return step.number, step.kind, clean(step.object), step.status, f"{_seconds(step):.3f}", step.tokens


def _pair(pair: Pair, clean: Clean) -> dict[str, Any]:
    sides = {
        name: dict(zip(COLUMNS, _values(step, clean), strict=True)) if step else None
        for name, step in (("left", pair.a), ("right", pair.b))
    }
    return {"equal": pair.equal, **sides}


def _seconds(step: Step) -> float:
    return max(0, step.ended - step.began) / SECOND if step.ended else 0.0


def _cell(text: str) -> str:
    """Words that cannot end a cell of a table."""
    return " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
