"""Queries about past runs: failures, root causes, repeated errors and success rates."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from core.timeline.run_summary import CallSummary, RunSummary

VARYING_PARTS = re.compile(r"0x[0-9a-f]+|\d+|[0-9a-f]{12,}|'[^']*'|\"[^\"]*\"|/[\w./-]+")


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed run. `root_cause` is the first failed tool call that was not repeated successfully, if there is one."""

    session: str
    run: int
    at: int
    status: str
    task: str
    reason: str
    fix: str = ""
    root_cause: "CallSummary | None" = None


@dataclass(slots=True)
class RepeatedError:
    """An error that occurred more than once. What varies (numbers, names, paths) is ignored in the comparison."""

    tool: str
    error: str
    example: str
    count: int = 0
    runs: set[tuple[str, int]] = field(default_factory=set)
    last: int = 0


@dataclass(slots=True)
class SuccessRate:
    """How many of `case_count` cases succeeded (`good`), failed (`bad`), or have an unknown outcome."""

    name: str
    case_count: int = 0
    good: int = 0
    bad: int = 0
    unknown: int = 0
    seconds: float = 0.0

    @property
    def text(self) -> str:
        """The rate as `3 of 4 (2 unknown)`.

        Below five known cases, a percentage would be misleading and is omitted.
        """
        known = self.good + self.bad
        rest = [f"{100 * self.good / known:.0f}%"] if known >= 5 else []
        rest += [f"{self.unknown} unknown"] if self.unknown else []
        return f"{self.good} of {known}" + (f" ({', '.join(rest)})" if rest else "")


def without_copies(runs: Iterable[RunSummary]) -> Iterator[RunSummary]:
    """Return the runs without those copied by a fork, which are counted in their original session."""
    return (run for run in runs if not run.copied)


def failure_of(run: RunSummary) -> Failure | None:
    """Return the failure of a run, or None if it did not fail."""
    if not run.failed:
        return None
    cause = root_cause(run)
    rated = "rated bad" if run.effective_rating == "bad" else ""
    reason = run.note.head or run.reason or (cause.output if cause else "")
    fix = run.error.fix if run.error else ""
    return Failure(run.session, run.number, run.ended_at, rated or run.status, run.task, reason, fix, cause)


def recent_failures(runs: Iterable[RunSummary], limit: int = 20) -> list[Failure]:
    """Return the most recent failures, newest first."""
    found = (failure_of(run) for run in without_copies(runs))
    return sorted((failure for failure in found if failure), key=lambda failure: -failure.at)[:limit]


def root_cause(run: RunSummary) -> CallSummary | None:
    """Return the first failed call for which no later call of the same tool and object succeeded, or None.

    A call without a result is not counted as failed, because its outcome is unknown.
    """
    succeeded = {(call.tool, call.object): call.seq for call in run.calls.values() if call.status == "done"}
    for call in run.calls.values():
        if call.status in {"failed", "refused"} and succeeded.get((call.tool, call.object), 0) < call.seq:
            return call
    return None


def failed_calls(run: RunSummary) -> list[CallSummary]:
    return [call for call in run.calls.values() if call.status in {"failed", "refused"}]


def repeated_errors(runs: Iterable[RunSummary], min_count: int = 2) -> list[RepeatedError]:
    """Return errors that occurred at least `min_count` times, most frequent first."""
    found: dict[tuple[str, str], RepeatedError] = {}
    for run in without_copies(runs):
        for call in failed_calls(run):
            kind = (call.tool, VARYING_PARTS.sub("…", call.output).casefold())
            error = found.setdefault(kind, RepeatedError(call.tool, kind[1], call.output))
            error.count += 1
            error.runs.add((run.session, run.number))
            error.last = max(error.last, call.ended_at)
    often = (error for error in found.values() if error.count >= min_count)
    return sorted(often, key=lambda error: (-error.count, -error.last))


def success_by_tool(runs: Iterable[RunSummary]) -> list[SuccessRate]:
    """Return how often the calls of each tool succeeded. A call without a result is unknown, not failed."""
    found: dict[str, SuccessRate] = {}
    for run in without_copies(runs):
        for call in run.calls.values():
            share = found.setdefault(call.tool, SuccessRate(call.tool))
            share.case_count += 1
            share.good += call.status == "done"
            share.bad += call.status in {"failed", "refused"}
            share.unknown += call.status == "open"
            share.seconds += max(0, call.ended_at - call.started_at) / 1e6
    return sorted(found.values(), key=lambda share: -share.case_count)


def success_by_decision(runs: Iterable[RunSummary]) -> list[SuccessRate]:
    """Return how runs were rated, grouped by the tools they used, their model and the decisions the agent recorded.

    A run without a rating counts as unknown.
    """
    found: dict[str, SuccessRate] = {}
    for run in without_copies(runs):
        for name in sorted({call.tool for call in run.calls.values()} | {f"model {run.model}"} | {*run.decisions}):
            share = found.setdefault(name, SuccessRate(name))
            share.case_count += 1
            share.good += run.effective_rating == "good"
            share.bad += run.effective_rating == "bad"
            share.unknown += run.effective_rating == "unknown"
    return sorted(found.values(), key=lambda share: -share.case_count)
