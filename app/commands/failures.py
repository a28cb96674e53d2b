"""The command `failures`, which lists failed tool calls, and the output of `show --failures` and `show --report`."""

import sys
from dataclasses import asdict
from datetime import datetime
from typing import Any

from app.commands.invocation import Invocation
from app.process.exit_codes import DONE
from app.process.output import iso_time, plural, token_count
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
from core.timeline.run_report import RunReport, call_line, report_details, report_run
from core.timeline.run_summary import CallSummary, RunSummary


async def failures(context: Invocation) -> int:
    args = context.args
    if args.repeated:
        empty_text = await _print_repeated_errors(context)
    elif args.by:
        empty_text = await _print_success_rates(context)
    else:
        empty_text = await _print_failures(context)
    if empty_text and not args.json:
        context.out.write(empty_text)
    return DONE


async def _print_failures(context: Invocation) -> str:
    """Print the failed runs. Return the text that says that there are none, or an empty string if there are some."""
    failed_runs = await context.engine.analytics.failures(_limit(context))
    for failure in failed_runs:
        _print_failure(context, failure)
    return "" if failed_runs else "No failed runs."


async def _print_repeated_errors(context: Invocation) -> str:
    repeated = repeated_errors(await _all_runs(context))[: _limit(context)]
    for error in repeated:
        _print_repeated_error(context, error)
    return "" if repeated else "No repeated errors."


async def _print_success_rates(context: Invocation) -> str:
    runs = await _all_runs(context)
    rates = list(success_by_tool(runs) if context.args.by == "tool" else success_by_decision(runs))
    for rate in rates[: _limit(context)]:
        _print_success_rate(context, rate)
    return "" if rates else "No rated runs."


def _limit(context: Invocation) -> int:
    """Return the most lines to print; 0 in the arguments means that there is no limit."""
    return context.args.limit or sys.maxsize


async def _all_runs(context: Invocation) -> list[RunSummary]:
    return [run async for run in context.engine.analytics.all_runs()]


async def show_runs(context: Invocation, session: str) -> int:
    """Print the failed calls of each run of a session or, with --report, a report of each run."""
    for run in await context.engine.analytics.runs(session):
        if context.args.report:
            _print_report(context, report_run(run))
            continue
        cause = root_cause(run)
        for call in failed_calls(run):
            if context.args.json:
                context.out.write_json({"run": run.number, "is_root_cause": call == cause, **_plain_call(call)})
            else:
                mark = "  ← the first that was not recovered from" if call == cause else ""
                context.out.write(f"run {run.number}, event {call.seq}: {call_line(call)}{mark}")
        if run.failed and not context.args.json:
            rated = ", rated bad" if run.effective_rating == "bad" else ""
            reason = run.note.head or run.reason
            context.out.write(f"run {run.number} {run.status}{rated}{f': {reason}' if reason else ''}")
    return DONE


def _print_failure(context: Invocation, failure: Failure) -> None:
    if context.args.json:
        plain = asdict(failure) | {
            "at": iso_time(failure.at),
            "root_cause": _plain_call(failure.root_cause) if failure.root_cause else None,
        }
        context.out.write_json(plain)
        return
    when = datetime.fromtimestamp(failure.at / SECOND).astimezone().strftime("%Y-%m-%d %H:%M")
    context.out.write(f"{failure.session}  {when}  {failure.status:11}  {failure.task}")
    first_failure = failure.root_cause and f"first failure: {call_line(failure.root_cause)}"
    for line in (failure.reason, first_failure, failure.fix):
        if line:
            context.out.write(f"          {line}")


def _print_repeated_error(context: Invocation, error: RepeatedError) -> None:
    runs = len(error.runs)
    if context.args.json:
        plain = {"tool": error.tool, "error": error.error, "example": error.example, "count": error.count}
        context.out.write_json(plain | {"runs": runs, "last": iso_time(error.last)})
    else:
        example = error.example or "(no message)"
        context.out.write(f"{error.count:4} × in {plural(runs, 'run')}  {error.tool}: {example}")


def _print_success_rate(context: Invocation, rate: SuccessRate) -> None:
    if context.args.json:
        context.out.write_json(asdict(rate))
    else:
        context.out.write(f"{rate.name:24} {rate.text}")


def _print_report(context: Invocation, report: RunReport) -> None:
    run, out = report.run, context.out
    if context.args.json:
        plain = asdict(report) | {
            "run": asdict(run) | {"calls": len(run.calls), "effective_rating": run.effective_rating}
        }
        plain["run"] |= {"started_at": iso_time(run.started_at), "ended_at": iso_time(run.ended_at)}
        out.write_json(plain)
        return
    out.write(f"Run {run.number}: {run.task}")
    out.write(f"  {report.seconds:.1f} s · {token_count(run.tokens, 1)} · {run.model}. {report.narrative}")
    for line in report_details(report):
        out.write(f"  {line}")


def _plain_call(call: CallSummary) -> dict[str, Any]:
    return asdict(call) | {
        "started_at": iso_time(call.started_at),
        "ended_at": iso_time(call.ended_at) if call.ended_at else "",
    }
