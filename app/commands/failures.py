"""The command `failures`, which lists failed tool calls, and the output of `show --failures` and `show --report`."""

from dataclasses import asdict
from datetime import datetime
from typing import Any

from app.commands.invocation import Invocation
from app.process.exit_codes import DONE
from app.process.output import iso_time, plural
from core.domain.clock import SECOND
from core.timeline.run_queries import (
    Failure,
    RepeatedError,
    SuccessRate,
    failed_calls,
    repeated_errors,
    root_cause,
    success_by_decision,
    success_by_tool,
)
from core.timeline.run_report import MAX_FAILURES, RunReport, report_run
from core.timeline.run_summary import CallSummary


async def failures(context: Invocation) -> int:
    typed, past = context.args, context.engine.analytics
    if not typed.repeated and not typed.by:
        found = await past.failures(typed.limit)
        for each in found:
            _tell_failure(context, each)
        if not found and not typed.json:
            context.out.write("No failed runs.")
        return DONE
    made = [run async for run in past.all_runs()]
    if typed.repeated:
        repeated = repeated_errors(made)[: typed.limit]
        for error in repeated:
            _tell_repeated(context, error)
        if not repeated and not typed.json:
            context.out.write("No repeated errors.")
        return DONE
    shares = list(success_by_tool(made) if typed.by == "tool" else success_by_decision(made))
    for share in shares:
        _tell_share(context, share)
    if not shares and not typed.json:
        context.out.write("No rated runs.")
    return DONE


async def show_runs(context: Invocation, session: str) -> int:
    """Print the failed calls of a session, or a report of each of its runs."""
    for run in await context.engine.analytics.runs(session):
        if context.args.report:
            _tell_report(context, report_run(run))
            continue
        wrong = root_cause(run)
        for call in failed_calls(run):
            if context.args.json:
                context.out.write_json({"run": run.number, "is_root_cause": call == wrong, **_plain_call(call)})
            else:
                mark = "  ← the first that was not recovered from" if call == wrong else ""
                context.out.write(f"run {run.number}, event {call.seq}: {_call_line(call)}{mark}")
        if run.failed and not context.args.json:
            context.out.write(f"run {run.number} {run.status}: {run.reason or run.note.head}")
    return DONE


def _tell_failure(context: Invocation, each: Failure) -> None:
    if context.args.json:
        plain = asdict(each) | {
            "at": iso_time(each.at),
            "root_cause": _plain_call(each.root_cause) if each.root_cause else None,
        }
        context.out.write_json(plain)
        return
    when = datetime.fromtimestamp(each.at / SECOND).astimezone().strftime("%Y-%m-%d %H:%M")
    context.out.write(f"{each.session}  {when}  {each.status:11}  {each.task}")
    for words in (each.reason, each.root_cause and f"first failure: {_call_line(each.root_cause)}", each.fix):
        if words:
            context.out.write(f"          {words}")


def _tell_repeated(context: Invocation, error: RepeatedError) -> None:
    runs = len(error.runs)
    if context.args.json:
        plain = {"tool": error.tool, "error": error.error, "example": error.example, "count": error.count}
        context.out.write_json(plain | {"runs": runs, "last": iso_time(error.last)})
    else:
        said = error.example or "(no message)"
        context.out.write(f"{error.count:4} × in {plural(runs, 'run')}  {error.tool}: {said}")


def _tell_share(context: Invocation, share: SuccessRate) -> None:
    if context.args.json:
        context.out.write_json(asdict(share))
    else:
        context.out.write(f"{share.name:24} {share.text}")


def _tell_report(context: Invocation, page: RunReport) -> None:
    run, out = page.run, context.out
    if context.args.json:
        plain = asdict(page) | {
            "run": asdict(run) | {"calls": len(run.calls), "effective_rating": run.effective_rating}
        }
        plain["run"] |= {"started_at": iso_time(run.started_at), "ended_at": iso_time(run.ended_at)}
        out.write_json(plain)
        return
    out.write(f"Run {run.number}: {run.task}")
    out.write(f"  {page.seconds:.1f} s · {run.tokens:,} tokens · {run.model}. {page.narrative}")
    for flag in page.flags:
        out.write(f"  ! {flag}")
    for path, (added, removed) in run.files.items():
        out.write(f"  file {path}  (+{added} −{removed})")
    for decision in run.decisions[-MAX_FAILURES:]:
        out.write(f"  decided {decision}")
    if page.root_cause:
        out.write(f"  first failure: {_call_line(page.root_cause)}")
    if page.last_call:
        out.write(f"  last: {_call_line(page.last_call)}")
    if run.answer:
        out.write(f"  answer: {run.answer}")


def _call_line(call: CallSummary) -> str:
    what = f"{call.tool} {call.object}".strip()
    after = f", after deciding {call.decision}" if call.decision else ""
    return f"{what} ({call.status}{': ' + call.output if call.output else ''}{after})"


def _plain_call(call: CallSummary) -> dict[str, Any]:
    return asdict(call) | {
        "started_at": iso_time(call.started_at),
        "ended_at": iso_time(call.ended_at) if call.ended_at else "",
    }
