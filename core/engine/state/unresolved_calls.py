"""Calls that were running when Journeyman exited, and how the user resolves them."""

from collections.abc import Collection
from typing import Literal

from core.domain.events import RunEnded, RunResumed, SessionEvent, ToolReturned
from core.domain.problems import Problem
from core.domain.question import QuestionAnswered, withdrawn_answer
from core.domain.text import Text
from core.store.reader import Reader

Resolution = Literal["", "retry", "skip", "abort"]  # What to do with unresolved calls; "" if there are none.
UNFINISHED = frozenset({"running", "waiting", "interrupted", "paused"})  # The statuses of sessions that have not ended.
SKIPPED_RESULT = Text("[Journeyman ended while this call ran, so it may have had its effect. It was not run again.]")


def root_session(reader: Reader, session: str) -> str:
    """Return the session to resume: for a sub-agent its outermost unfinished ancestor, otherwise the session."""
    row = reader.session(session)
    above = reader.session(row.parent) if row and row.parent else None
    return root_session(reader, above.id) if above and above.status in UNFINISHED else session


class UnresolvedCallsError(Problem):
    """Raised when calls may have run before a crash, so that the user has to choose how to continue."""

    def __init__(self, session: str, calls: tuple[str, ...]) -> None:
        super().__init__(
            f"{', '.join(calls)} may have run.",
            "Journeyman exited while it was running, so its result is unknown.",
            f"Check its effect, then choose: journeyman resume {session} --retry, --skip or --abort.",
        )
        self.calls = calls


def resolution_events(
    status: str,
    resolution: Resolution,
    own: Collection[str],
    unresolved: Collection[str],
    open_questions: Collection[str],
) -> list[SessionEvent]:
    """Return the events that resume or end a run with the user's decision.

    `own` are the session's unresolved calls, `unresolved` also includes those of its sub-agents, and
    `open_questions` are the IDs of the session's open questions. The question of a call that is skipped is withdrawn.
    """
    events: list[SessionEvent] = []
    if status in {"interrupted", "paused"} or unresolved:
        events.append(RunResumed(resolution if unresolved else ""))
    if resolution == "skip":
        withdrawn = [name for name in open_questions if any(f"-{call}-" in name for call in own)]
        events += [
            QuestionAnswered(name, "", withdrawn_answer("the call that asked was not made again")) for name in withdrawn
        ]
        events += [ToolReturned(call, SKIPPED_RESULT, failed=True) for call in own]
    if resolution == "abort":
        events.append(RunEnded("stopped", "ended by you"))
    return events
