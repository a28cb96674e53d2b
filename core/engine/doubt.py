"""Calls that may have run when Journeyman ended, and what a person can say of them."""

from collections.abc import Collection
from typing import Literal

from core.domain.events import RunEnded, RunEvent, RunResumed, ToolReturned
from core.domain.problems import Problem
from core.domain.question import QuestionAnswered, withdrawn
from core.domain.text import Text

Settle = Literal["", "again", "skip", "end"]  # what to do with calls that may have run
GOES_ON = frozenset({"running", "waiting", "interrupted", "paused"})  # sessions that have not ended
SKIPPED = Text("[Journeyman ended while this call ran, so it may have had its effect. It was not run again.]")


class Doubt(Problem):
    """Calls may have run; only a person can say what now."""

    def __init__(self, session: str, calls: tuple[str, ...]) -> None:
        super().__init__(
            f"{', '.join(calls)} may have run.",
            "Journeyman ended while it was running, so nobody saw the end of it.",
            f"Look, then choose: journeyman resume {session} --again, --skip or --end.",
        )
        self.calls = calls


def settled(
    status: str, settle: Settle, own: Collection[str], doubted: Collection[str], asked: Collection[str]
) -> list[RunEvent]:
    """What a person's word makes of a run that rests; `own` are its own calls that may have run.

    `asked` are its questions: what such a call asked is not wanted any more where it is not made again.
    """
    events: list[RunEvent] = []
    if status in {"interrupted", "paused"} or doubted:
        events.append(RunResumed(settle if doubted else ""))
    if settle == "skip":
        gone = [name for name in asked if any(f"-{call}-" in name for call in own)]
        events += [QuestionAnswered(name, "", withdrawn("the call that asked was not made again")) for name in gone]
        events += [ToolReturned(call, SKIPPED, failed=True) for call in own]
    if settle == "end":
        events.append(RunEnded("stopped", "ended by you"))
    return events
