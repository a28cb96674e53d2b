"""`failures`, `compare`, and what `show` says of runs: questions to the past."""

from dataclasses import asdict
from datetime import datetime
from typing import Any

from app.commands.context import Context
from app.commands.exits import DONE
from app.commands.follow import session_named, step_line
from app.output import moment
from core.domain.clock import SECOND
from core.domain.problems import Problem
from core.domain.steps import Step
from core.timeline.align import Alignment, Pair, Totals
from core.timeline.queries import (
    Failure,
    Repeated,
    Share,
    failed_calls,
    first_wrong,
    repeated_errors,
    success_by_decision,
    success_by_tool,
)
from core.timeline.report import HANDED_ON, Report, report
from core.timeline.runs import CallMade

FIGURES = ("steps", "failed", "seconds", "tokens", "cost")


async def failures(context: Context) -> int:
    typed, past = context.typed, context.engine.past
    if not typed.repeated and not typed.by:
        found = await past.failures(typed.limit)
        for each in found:
            _tell_failure(context, each)
        if not found and not typed.json:
            context.out.write("No run went wrong.")
        return DONE
    made = [run async for run in past.all_runs()]
    if typed.repeated:
        for error in repeated_errors(made)[: typed.limit]:
            _tell_repeated(context, error)
        return DONE
    for share in success_by_tool(made) if typed.by == "tool" else success_by_decision(made):
        _tell_share(context, share)
    return DONE


async def show(context: Context, session: str) -> int:
    """The failed calls of a session, or its runs on a page each."""
    for run in await context.engine.past.runs(session):
        if context.typed.report:
            _tell_report(context, report(run))
            continue
        wrong = first_wrong(run)
        for call in failed_calls(run):
            if context.typed.json:
                context.out.json({"run": run.number, "first_wrong": call == wrong, **_plain_call(call)})
            else:
                mark = "  ← the first that was not made good" if call == wrong else ""
                context.out.write(f"run {run.number}, entry {call.seq}: {_call_line(call)}{mark}")
        if run.failed and not context.typed.json:
            context.out.write(f"run {run.number} {run.status}: {run.reason or run.note.head}")
    return DONE


async def compare(context: Context) -> int:
    (a, run_a), (b, run_b) = (_named_run(context, name) for name in (context.typed.a, context.typed.b))
    found = context.engine.past.compare(a, b, run_a, run_b)
    if context.typed.json:
        for pair in found.pairs:
            context.out.json({"a": _plain_step(pair.a), "b": _plain_step(pair.b), "equal": pair.equal})
        figures = {"first_difference": found.first, "equal": found.equal, "a": asdict(found.a), "b": asdict(found.b)}
        context.out.json(figures | {"delta": {name: _delta(found.a, found.b, name) for name in FIGURES}})
        return DONE
    _tell_comparison(context, found)
    return DONE


def _named_run(context: Context, name: str) -> tuple[str, int]:
    """A session, or one run of it as `SESSION/N`; 0 is all of them."""
    session, _, number = name.partition("/")
    found = session_named(context.engine, session)
    runs = context.engine.session(found).runs
    if number and not (number.isascii() and number.isdigit() and 1 <= int(number[:9]) <= runs):
        raise Problem(f"There is no run {number!r}.", f"The session has {runs}.", "Name one as SESSION/1.")
    return found, int(number or 0)


def _tell_failure(context: Context, each: Failure) -> None:
    if context.typed.json:
        plain = asdict(each) | {"at": moment(each.at), "wrong": _plain_call(each.wrong) if each.wrong else None}
        context.out.json(plain)
        return
    when = datetime.fromtimestamp(each.at / SECOND).astimezone().strftime("%Y-%m-%d %H:%M")
    context.out.write(f"{each.session}  {when}  {each.status:11}  {each.task}")
    for words in (each.why, each.wrong and f"first wrong: {_call_line(each.wrong)}", each.do):
        if words:
            context.out.write(f"          {words}")


def _tell_repeated(context: Context, error: Repeated) -> None:
    runs = len(error.runs)
    if context.typed.json:
        plain = {"tool": error.tool, "error": error.error, "example": error.example, "count": error.count}
        context.out.json(plain | {"runs": runs, "last": moment(error.last)})
    else:
        said = error.example or "(it said nothing)"
        context.out.write(f"{error.count:4} × in {runs} run{'' if runs == 1 else 's'}  {error.tool}: {said}")


def _tell_share(context: Context, share: Share) -> None:
    if context.typed.json:
        context.out.json(asdict(share))
    else:
        context.out.write(f"{share.name:24} {share.words}")


def _tell_report(context: Context, page: Report) -> None:
    run, out = page.run, context.out
    if context.typed.json:
        plain = asdict(page) | {"run": asdict(run) | {"calls": len(run.calls), "judgement": run.judgement}}
        plain["run"] |= {"began": moment(run.began), "ended": moment(run.ended)}
        out.json(plain)
        return
    out.write(f"Run {run.number}: {run.task}")
    out.write(f"  {page.seconds:.1f} s · {run.tokens:,} tokens · {run.model}. {page.narrative}")
    for flag in page.flags:
        out.write(f"  ! {flag}")
    for path, (added, removed) in run.files.items():
        out.write(f"  file {path}  (+{added} −{removed})")
    for decision in run.decisions[-HANDED_ON:]:
        out.write(f"  decided {decision}")
    if page.wrong:
        out.write(f"  first wrong: {_call_line(page.wrong)}")
    if page.last:
        out.write(f"  last: {_call_line(page.last)}")
    if run.answer:
        out.write(f"  said: {run.answer}")


def _tell_comparison(context: Context, found: Alignment) -> None:
    out = context.out
    first = found.first
    out.write(f"{found.equal} of {len(found.pairs)} steps are equal.")
    if first is not None:
        out.write(f"First difference, after {first} equal steps:")
        for pair in found.pairs[first : first + 3]:
            out.write(f"  A {_side(pair.a)}\n  B {_side(pair.b)}" if not _alike(pair) else f"  = {_side(pair.a)}")
    for name in FIGURES:
        a, b, change = getattr(found.a, name), getattr(found.b, name), _delta(found.a, found.b, name)
        out.write(f"{name:8} {_figure(a):>12} {_figure(b):>12} {'+' if change > 0 else ''}{_figure(change)}")


def _alike(pair: Pair) -> bool:
    return pair.equal and pair.same_end


def _side(step: Step | None) -> str:
    return step_line(step).strip() if step else "—"


def _delta(a: Totals, b: Totals, name: str) -> float:
    change: float = getattr(b, name) - getattr(a, name)
    return round(change, 6)


def _figure(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def _call_line(call: CallMade) -> str:
    what = f"{call.tool} {call.object}".strip()
    after = f", after deciding {call.decision}" if call.decision else ""
    return f"{what} ({call.status}{': ' + call.output if call.output else ''}{after})"


def _plain_call(call: CallMade) -> dict[str, Any]:
    return asdict(call) | {"began": moment(call.began), "ended": moment(call.ended) if call.ended else ""}


def _plain_step(step: Step | None) -> dict[str, Any] | None:
    if step is None:
        return None
    return {"number": step.number, "kind": step.kind, "object": step.object, "status": step.status}
