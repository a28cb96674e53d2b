"""A one-page report of a run: its result, what deserves attention, and what the next run should know."""

from collections.abc import Iterator
from dataclasses import dataclass

from core.domain.clock import SECOND
from core.domain.text import end_sentence
from core.timeline.run_queries import failed_calls, root_cause
from core.timeline.run_summary import CallSummary, RunSummary

ENDED = {"done": "It completed", "stopped": "It was stopped", "limit": "It reached a limit", "failed": "It failed"}
MAX_FAILURES = 10  # failures listed in a report


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The values above which a run is flagged."""

    retries: int = 3
    questions: int = 2
    seconds: float = 60.0
    tokens: int = 100_000
    steps: int = 20


@dataclass(frozen=True, slots=True)
class RunReport:
    """The report of a run. `failures` are its first failed calls; for `root_cause` see `core.timeline.run_queries`."""

    run: RunSummary
    seconds: float
    flags: tuple[str, ...]
    failures: tuple[CallSummary, ...]
    root_cause: CallSummary | None
    last_call: CallSummary | None
    narrative: str


DEFAULT_THRESHOLDS = Thresholds()


def report_run(run: RunSummary, thresholds: Thresholds = DEFAULT_THRESHOLDS) -> RunReport:
    """Build the report. `thresholds` are the values above which a run is flagged."""
    calls = list(run.calls.values())
    return RunReport(
        run,
        duration_s(run),
        tuple(_flags(run, thresholds)),
        tuple(failed_calls(run)[:MAX_FAILURES]),
        root_cause(run),
        calls[-1] if calls else None,
        narrative(run),
    )


def duration_s(run: RunSummary) -> float:
    """Return the duration of a run. One that has not ended counts until its last event."""
    return max(0, run.ended_at - run.started_at) / SECOND


def narrative(run: RunSummary) -> str:
    """Return a summary of the run in one or two sentences."""
    failed = len(failed_calls(run))
    open_calls = sum(call.status == "open" for call in run.calls.values())
    parts = [f"{_count(run.turns, 'turn')}, {_count(len(run.calls), 'call')}"]
    parts += [f"{failed} failed"] if failed else []
    parts += [f"{open_calls} without a result"] if open_calls else []
    parts += [_count(len(run.files), "file") + " changed"] if run.files else []
    is_waiting = run.status == "running" and run.unanswered
    ended = ENDED.get(run.status) or ("It is waiting for you" if is_waiting else f"It is {run.status}")
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
