"""A one-page report of a run: its result, what deserves attention, and what the next run should know."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from core.domain.clock import SECOND
from core.domain.text import end_sentence
from core.timeline.run_queries import failed_calls, root_cause
from core.timeline.run_summary import CallSummary, RunSummary

STATUS_TEXTS = {
    "done": "It completed",
    "stopped": "It was stopped",
    "limit": "It reached a limit",
    "failed": "It failed",
    "waiting": "It is waiting for you",
}
MAX_FAILURES = 10  # the most failures and decisions that a report lists


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Limits of a normal run. A run that exceeds one of them is flagged in its report."""

    retries: int = 3
    questions: int = 2
    seconds: float = 60.0
    tokens: int = 100_000
    steps: int = 20


@dataclass(frozen=True, slots=True)
class RunReport:
    """The report of a run. `failures` has its first failed calls.

    `root_cause` is explained in `core.timeline.run_queries`.
    """

    run: RunSummary
    seconds: float
    flags: tuple[str, ...]
    failures: tuple[CallSummary, ...]
    root_cause: CallSummary | None
    last_call: CallSummary | None
    narrative: str


DEFAULT_THRESHOLDS = Thresholds()


def report_run(run: RunSummary, thresholds: Thresholds = DEFAULT_THRESHOLDS) -> RunReport:
    """Return the report of a run. The run is flagged where it exceeds one of the thresholds.

    The status of a run that waits for the user is `waiting`, as for its session.
    """
    if run.status == "running" and run.unanswered:
        run = replace(run, status="waiting")
    calls = list(run.calls.values())
    return RunReport(
        run=run,
        seconds=duration_s(run),
        flags=tuple(_flags(run, thresholds)),
        failures=tuple(failed_calls(run)[:MAX_FAILURES]),
        root_cause=root_cause(run),
        last_call=calls[-1] if calls else None,
        narrative=narrative(run),
    )


def report_details(report: RunReport) -> Iterator[str]:
    """Yield the lines of a report: its flags, changed files, decisions, first failure, last call and answer."""
    run = report.run
    yield from (f"! {flag}" for flag in report.flags)
    yield from (f"file {path}  (+{added} −{removed})" for path, (added, removed) in run.files.items())
    yield from (f"decided {decision}" for decision in run.decisions[-MAX_FAILURES:])
    if report.root_cause:
        yield f"first failure: {call_line(report.root_cause)}"
    if report.last_call:
        yield f"last: {call_line(report.last_call)}"
    if run.answer:
        yield f"answer: {run.answer}"


def call_line(call: CallSummary) -> str:
    """Return a line about a call: its status, the last line of its output, and the decision that it followed."""
    call_text = f"{call.tool} {call.object}".strip()
    after = f", after deciding {call.decision}" if call.decision else ""
    return f"{call_text} ({call.status}{': ' + call.output if call.output else ''}{after})"


def duration_s(run: RunSummary) -> float:
    """Return the duration of a run in seconds. A run that has not ended lasts until its last event."""
    return max(0, run.ended_at - run.started_at) / SECOND


def narrative(run: RunSummary) -> str:
    """Return a summary of the run in two or three short sentences."""
    failed = len(failed_calls(run))
    open_calls = sum(call.status == "open" for call in run.calls.values())
    parts = [f"{_count(run.turns, 'turn')}, {_count(len(run.calls), 'call')}"]
    parts += [f"{failed} failed"] if failed else []
    parts += [f"{open_calls} without a result"] if open_calls else []
    parts += [_count(len(run.files), "file") + " changed"] if run.files else []
    ended = STATUS_TEXTS.get(run.status) or f"It is {run.status}"
    ended += f": {run.reason}" if run.reason else ""
    return f"{', '.join(parts)}. {end_sentence(ended)} Rating: {run.effective_rating}."


def _flags(run: RunSummary, limits: Thresholds) -> Iterator[str]:
    if run.failed:
        yield "it was rated bad" if run.effective_rating == "bad" else f"it ended with status {run.status}"
    for issue in run.issues:
        yield f"it reported an issue: {issue}"
    if run.retries > limits.retries:
        yield f"{run.retries} requests were retried (more than {limits.retries})"
    if run.questions > limits.questions:
        yield f"it asked you {run.questions} questions (more than {limits.questions})"
    if duration_s(run) > limits.seconds:
        yield f"it took {duration_s(run):.0f} s (more than {limits.seconds:g} s)"
    if run.tokens > limits.tokens:
        yield f"it used {run.tokens:,} tokens (more than {limits.tokens:,})"
    if (steps := run.turns + len(run.calls)) > limits.steps:
        yield f"it took {steps} steps (more than {limits.steps})"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
