"""Queries about past runs: failures, root causes, repeated errors and success rates."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from core.timeline.run_summary import CallSummary, RunSummary

DECIDE = "decide"  # the name of a tool, repeated here because its module is slow to import
VARYING_PARTS = re.compile(
    r"0x[0-9a-f]+|'[^']*'|\"[^\"]*\"|“[^”]*”"
    r"|[\w.-]*/[\w./-]*\w"  # paths
    r"|(?=[\w-]*[^\W\d])[\w-]+(?:\.[\w-]+)+"  # names of files, which have an extension
    r"|\b[0-9a-f]{12,}\b|\d+(?:\.\d+)?"
)
LISTED_PARTS = re.compile("…(?:, …)+")  # a list of any length, such as the files in a folder


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed run. `root_cause` is the first failed tool call that no later call corrected, or None."""

    session: str
    run: int
    at: int
    status: str
    task: str
    reason: str
    fix: str = ""
    root_cause: CallSummary | None = None


@dataclass(slots=True)
class RepeatedError:
    """An error that occurred more than once.

    Errors that differ only in numbers, quoted names, paths or file names count as the same.
    """

    tool: str
    error: str
    example: str
    count: int = 0
    runs: set[tuple[str, int]] = field(default_factory=set)
    last: int = 0


@dataclass(slots=True)
class SuccessRate:
    """How many of `case_count` cases succeeded (`good`), failed (`bad`), or have an unknown outcome (`unknown`)."""

    name: str
    case_count: int = 0
    good: int = 0
    bad: int = 0
    unknown: int = 0
    seconds: float = 0.0

    @property
    def text(self) -> str:
        """The rate as text, for example `3 of 4 (2 unknown)`.

        A percentage is added only for five or more known cases: for fewer it would be misleading.
        """
        known_count = self.good + self.bad
        notes = [f"{100 * self.good / known_count:.0f}%"] if known_count >= 5 else []
        notes += [f"{self.unknown} unknown"] if self.unknown else []
        return f"{self.good} of {known_count}" + (f" ({', '.join(notes)})" if notes else "")


def without_copies(runs: Iterable[RunSummary]) -> Iterator[RunSummary]:
    """Yield the runs that were not copied by a fork. A copied run counts only in its original session."""
    return (run for run in runs if not run.copied)


def failure_of(run: RunSummary) -> Failure | None:
    """Return the failure of a run, or None if it did not fail."""
    if not run.failed:
        return None
    cause = root_cause(run)
    rated = "rated bad" if run.effective_rating == "bad" else ""
    reason = run.note.head or run.reason or (cause.output if cause else "")
    fix = run.error.fix if run.error else ""
    return Failure(
        session=run.session,
        run=run.number,
        at=run.ended_at,
        status=rated or run.status,
        task=run.task,
        reason=reason,
        fix=fix,
        root_cause=cause,
    )


def recent_failures(runs: Iterable[RunSummary], limit: int = 20) -> list[Failure]:
    """Return the `limit` most recent failures, newest first."""
    failures = (failure_of(run) for run in without_copies(runs))
    return sorted((failure for failure in failures if failure), key=lambda failure: -failure.at)[:limit]


def root_cause(run: RunSummary) -> CallSummary | None:
    """Return the first failed tool call that no later call corrected, or None.

    A call is corrected by a later successful call of the same tool with the same object. For a call with invalid
    arguments, and for a decision, whose object includes the choice, any later successful call of the same tool is
    enough. A call without a result does not count as failed, because its outcome is unknown.
    """
    succeeded: dict[tuple[str, str], int] = {}
    for call in run.calls.values():
        if call.status == "done":
            succeeded[call.tool, call.object] = succeeded[call.tool, ""] = call.seq
    for call in run.calls.values():
        object = "" if call.tool == DECIDE else call.object
        if call.status in {"failed", "refused"} and succeeded.get((call.tool, object), 0) < call.seq:
            return call
    return None


def failed_calls(run: RunSummary) -> list[CallSummary]:
    return [call for call in run.calls.values() if call.status in {"failed", "refused"}]


def repeated_errors(runs: Iterable[RunSummary], min_count: int = 2) -> list[RepeatedError]:
    """Return the errors that occurred at least `min_count` times, most frequent first."""
    errors: dict[tuple[str, str], RepeatedError] = {}
    for run in without_copies(runs):
        for call in failed_calls(run):
            key = (call.tool, LISTED_PARTS.sub("…", VARYING_PARTS.sub("…", call.output)).casefold())
            error = errors.setdefault(key, RepeatedError(call.tool, key[1], call.output))
            error.count += 1
            error.runs.add((run.session, run.number))
            error.last = max(error.last, call.ended_at)
    repeated = (error for error in errors.values() if error.count >= min_count)
    return sorted(repeated, key=lambda error: (-error.count, -error.last))


def success_by_tool(runs: Iterable[RunSummary]) -> list[SuccessRate]:
    """Return how often the calls of each tool succeeded. A call without a result counts as unknown."""
    rates: dict[str, SuccessRate] = {}
    for run in without_copies(runs):
        for call in run.calls.values():
            rate = rates.setdefault(call.tool, SuccessRate(call.tool))
            rate.case_count += 1
            rate.good += call.status == "done"
            rate.bad += call.status in {"failed", "refused"}
            rate.unknown += call.status == "open"
            rate.seconds += max(0, call.ended_at - call.started_at) / 1e6
    return sorted(rates.values(), key=lambda rate: -rate.case_count)


def success_by_decision(runs: Iterable[RunSummary]) -> list[SuccessRate]:
    """Return how runs were rated: for each tool they used, each model, and each decision that the agent recorded.

    A run without a rating counts as unknown.
    """
    rates: dict[str, SuccessRate] = {}
    for run in without_copies(runs):
        for name in sorted({call.tool for call in run.calls.values()} | {f"model {run.model}"} | {*run.decisions}):
            rate = rates.setdefault(name, SuccessRate(name))
            rate.case_count += 1
            rate.good += run.effective_rating == "good"
            rate.bad += run.effective_rating == "bad"
            rate.unknown += run.effective_rating == "unknown"
    return sorted(rates.values(), key=lambda rate: -rate.case_count)
