"""The command `compare`: prints where two sessions or runs differ, step by step."""

from dataclasses import asdict
from typing import Any, NamedTuple

from app.commands.invocation import Invocation
from app.commands.timeline_lines import step_line
from app.process.exit_codes import DONE
from app.process.output import plural
from core.domain.problems import Problem
from core.domain.steps import Step
from core.exchange.comparison import unique_knowledge
from core.timeline.run_alignment import AlignedPair, Alignment, RunTotals

FIGURES = ("steps", "failed", "seconds", "tokens", "cost")


class NamedRuns(NamedTuple):
    """What the user named: the run with this number of a session, or all of its runs if the number is 0."""

    session: str
    number: int


async def compare(context: Invocation) -> int:
    a, b = _parse_runs(context, context.args.a), _parse_runs(context, context.args.b)
    alignment = context.engine.analytics.compare(a.session, b.session, a.number, b.number)
    if context.args.json:
        _print_json(context, alignment)
    else:
        _print_comparison(context, alignment)
    return DONE


def _parse_runs(context: Invocation, name: str) -> NamedRuns:
    """Parse `SESSION` or `SESSION/N`. Raise Problem if there is no such session or run."""
    session, _, number = name.partition("/")
    row = context.engine.session(session)
    if number and not (number.isascii() and number.isdigit() and 1 <= int(number[:9]) <= row.runs):
        raise Problem(
            f"There is no run {number!r}.", f"The session has {plural(row.runs, 'run')}.", "Name one as SESSION/1."
        )
    return NamedRuns(row.id, int(number or 0))


def _print_json(context: Invocation, alignment: Alignment) -> None:
    for pair in alignment.pairs:
        context.out.write_json({"a": _plain_step(pair.a), "b": _plain_step(pair.b), "equal": pair.equal})
    only_a, only_b = unique_knowledge(alignment)
    context.out.write_json(
        {
            "first_difference": alignment.first_difference,
            "equal": alignment.equal,
            "a": asdict(alignment.a),
            "b": asdict(alignment.b),
            "only_a": only_a,
            "only_b": only_b,
            "delta": {name: _delta(alignment.a, alignment.b, name) for name in FIGURES},
        }
    )


def _print_comparison(context: Invocation, alignment: Alignment) -> None:
    out = context.out
    first = alignment.first_difference
    out.write(f"Equal steps: {alignment.equal} of {len(alignment.pairs)}.")
    if first is not None:
        out.write(f"First difference, after {plural(first, 'equal step')}:")
        for pair in alignment.pairs[first : first + 3]:
            if _matches(pair):
                out.write(f"  = {_step_text(pair.a)}")
            else:
                note = "  (with other arguments)" if pair.differs_in_arguments else ""
                out.write(f"  A {_step_text(pair.a)}\n  B {_step_text(pair.b)}{note}")
    for name in FIGURES:
        a, b = _figure(getattr(alignment.a, name)), _figure(getattr(alignment.b, name))
        change = _delta(alignment.a, alignment.b, name)
        sign = "+" if change is not None and change > 0 else ""
        out.write(f"{name:8} {a:>12} {b:>12} {sign}{_figure(change)}")
    for side, unique in zip("AB", unique_knowledge(alignment), strict=True):
        for used in unique:
            out.write(f"Only in {side}: {used}")


def _matches(pair: AlignedPair) -> bool:
    return pair.equal and pair.same_status


def _step_text(step: Step | None) -> str:
    return step_line(step).strip() if step else "—"


def _delta(a: RunTotals, b: RunTotals, name: str) -> float | None:
    """Return by how much the total `name` of `b` exceeds that of `a`; None if one of them is unknown."""
    before, after = getattr(a, name), getattr(b, name)
    return None if before is None or after is None else round(after - before, 6)


def _figure(value: float | None) -> str:
    if value is None:
        return "unknown"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def _plain_step(step: Step | None) -> dict[str, Any] | None:
    if step is None:
        return None
    return {"number": step.number, "kind": step.kind, "object": step.object, "status": step.status}
