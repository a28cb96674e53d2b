"""A run on one page: what it came to, what deserves attention, and what the next one should know."""

from collections.abc import Iterator
from dataclasses import dataclass

from core.domain.clock import SECOND
from core.timeline.queries import failed_calls, first_wrong
from core.timeline.runs import CallMade, RunMade

HANDED_ON = 10  # of anything


@dataclass(frozen=True, slots=True)
class Thresholds:
    """From where on a run deserves a look. The defaults are those of the logs people used before."""

    retries: int = 3
    questions: int = 2
    seconds: float = 60.0
    tokens: int = 100_000
    steps: int = 20


@dataclass(frozen=True, slots=True)
class Report:
    run: RunMade
    seconds: float
    flags: tuple[str, ...]
    failures: tuple[CallMade, ...]
    wrong: CallMade | None
    last: CallMade | None
    narrative: str


USUAL = Thresholds()


def report(run: RunMade, thresholds: Thresholds = USUAL) -> Report:
    calls = list(run.calls.values())
    return Report(
        run,
        seconds_of(run),
        tuple(_flags(run, thresholds)),
        tuple(failed_calls(run)[:HANDED_ON]),
        first_wrong(run),
        calls[-1] if calls else None,
        narrative(run),
    )


def seconds_of(run: RunMade) -> float:
    """Also of a run that has not ended: until its last fact."""
    return max(0, run.ended - run.began) / SECOND


def narrative(run: RunMade) -> str:
    """The run in a sentence or two."""
    failed = len(failed_calls(run))
    open_calls = sum(call.status == "open" for call in run.calls.values())
    parts = [f"{_count(run.rounds, 'round')}, {_count(len(run.calls), 'call')}"]
    parts += [f"{failed} failed"] if failed else []
    parts += [f"{open_calls} without a result"] if open_calls else []
    parts += [_count(len(run.files), "file") + " changed"] if run.files else []
    ended = f"It is {run.status}" if run.status in {"running", "paused", "interrupted"} else f"It ended {run.status}"
    why = f": {run.reason}" if run.reason else ""
    return f"{', '.join(parts)}. {ended}{why}. Verdict: {run.judgement}."


def _flags(run: RunMade, limits: Thresholds) -> Iterator[str]:
    if run.failed:
        yield f"it went wrong ({'judged bad' if run.judgement == 'bad' else run.status})"
    for problem in run.problems:
        yield f"it reported a problem: {problem}"
    if run.retries > limits.retries:
        yield f"{run.retries} requests were made again (more than {limits.retries})"
    if run.questions > limits.questions:
        yield f"{run.questions} questions to you (more than {limits.questions})"
    if seconds_of(run) > limits.seconds:
        yield f"it took {seconds_of(run):.0f} s (more than {limits.seconds:g})"
    if run.tokens > limits.tokens:
        yield f"{run.tokens:,} tokens (more than {limits.tokens:,})"
    if (steps := run.rounds + len(run.calls)) > limits.steps:
        yield f"{steps} steps (more than {limits.steps})"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")
