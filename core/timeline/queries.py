"""Questions to the past: what failed, what went wrong first, what repeats, what tends to work."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from core.timeline.runs import CallMade, RunMade

SAME = re.compile(r"0x[0-9a-f]+|\d+|[0-9a-f]{12,}|'[^']*'|\"[^\"]*\"|/[\w./-]+")


@dataclass(frozen=True, slots=True)
class Failure:
    """A run that went wrong: how, why, and the decision that was wrong first, if one can be named."""

    session: str
    run: int
    at: int
    status: str
    task: str
    why: str
    do: str = ""
    wrong: "CallMade | None" = None


@dataclass(slots=True)
class Repeated:
    """The same error more than once; what differs from time to time (numbers, names, paths) is left out."""

    tool: str
    error: str
    example: str
    count: int = 0
    runs: set[tuple[str, int]] = field(default_factory=set)
    last: int = 0


@dataclass(slots=True)
class Share:
    """How often something worked, of how many of which that is known. Never a share without its n."""

    name: str
    n: int = 0
    good: int = 0
    bad: int = 0
    unknown: int = 0
    seconds: float = 0.0

    @property
    def words(self) -> str:
        """`3 of 4 (75 %, 2 unknown)`; below five no percentage, which would promise too much."""
        known = self.good + self.bad
        rest = [f"{100 * self.good / known:.0f} %"] if known >= 5 else []
        rest += [f"{self.unknown} unknown"] if self.unknown else []
        return f"{self.good} of {known}" + (f" ({', '.join(rest)})" if rest else "")


def own(made: Iterable[RunMade]) -> Iterator[RunMade]:
    """Without those that were copied by a fork: they are counted where they happened."""
    return (run for run in made if not run.copied)


def failure(run: RunMade) -> Failure | None:
    """What is to be said of a run that went wrong; None where none did."""
    if not run.failed:
        return None
    wrong = first_wrong(run)
    judged = "judged bad" if run.judgement == "bad" else ""
    said = run.note.head or run.reason or (wrong.output if wrong else "")
    do = run.trouble.do if run.trouble else ""
    return Failure(run.session, run.number, run.ended, judged or run.status, run.task, said, do, wrong)


def recent_failures(made: Iterable[RunMade], limit: int = 20) -> list[Failure]:
    """The newest first."""
    found = (failure(run) for run in own(made))
    return sorted((each for each in found if each), key=lambda each: -each.at)[:limit]


def first_wrong(run: RunMade) -> CallMade | None:
    """The first call that went wrong and was not made good: none of the same tool and object succeeded later.

    One without a result is not counted as failed: nobody knows.
    """
    mended = {(call.tool, call.object): call.seq for call in run.calls.values() if call.status == "done"}
    for call in run.calls.values():
        if call.status in {"failed", "refused"} and mended.get((call.tool, call.object), 0) < call.seq:
            return call
    return None


def failed_calls(run: RunMade) -> list[CallMade]:
    return [call for call in run.calls.values() if call.status in {"failed", "refused"}]


def repeated_errors(made: Iterable[RunMade], least: int = 2) -> list[Repeated]:
    """The most frequent first."""
    found: dict[tuple[str, str], Repeated] = {}
    for run in own(made):
        for call in failed_calls(run):
            kind = (call.tool, SAME.sub("…", call.output).casefold())
            error = found.setdefault(kind, Repeated(call.tool, kind[1], call.output))
            error.count += 1
            error.runs.add((run.session, run.number))
            error.last = max(error.last, call.ended)
    often = (error for error in found.values() if error.count >= least)
    return sorted(often, key=lambda error: (-error.count, -error.last))


def success_by_tool(made: Iterable[RunMade]) -> list[Share]:
    """How often the calls of each tool worked. A call without a result is unknown, not failed."""
    found: dict[str, Share] = {}
    for run in own(made):
        for call in run.calls.values():
            share = found.setdefault(call.tool, Share(call.tool))
            share.n += 1
            share.good += call.status == "done"
            share.bad += call.status in {"failed", "refused"}
            share.unknown += call.status == "open"
            share.seconds += max(0, call.ended - call.began) / 1e6
    return sorted(found.values(), key=lambda share: -share.n)


def success_by_decision(made: Iterable[RunMade]) -> list[Share]:
    """How the runs were judged in which something was decided: explicitly, or by choosing a tool or a model.

    A run without a verdict is unknown.
    """
    found: dict[str, Share] = {}
    for run in own(made):
        for name in sorted({call.tool for call in run.calls.values()} | {f"model {run.model}"} | {*run.decisions}):
            share = found.setdefault(name, Share(name))
            share.n += 1
            share.good += run.judgement == "good"
            share.bad += run.judgement == "bad"
            share.unknown += run.judgement == "unknown"
    return sorted(found.values(), key=lambda share: -share.n)
