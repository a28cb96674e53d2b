"""How a recorded decision turned out: what the agent did until its next decision, and how the run ended.

The window needs this module at startup, so it imports nothing slow.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from core.domain.steps import OPEN_STATUSES, Step


@dataclass(frozen=True, slots=True)
class DecisionOutcome:
    """Totals of the steps between a decision and the next decision of the same run.

    `run_status` is the status with which the run ended in these steps, empty if another decision came first or the run
    has not ended. `cost` is in US dollars; 0 may mean that the price is unknown. `duration` is in microseconds.
    """

    steps: int = 0
    failed: int = 0
    files: int = 0
    added: int = 0
    removed: int = 0
    tokens: int = 0
    cost: float = 0.0
    duration: int = 0
    run_status: str = ""
    open: bool = False


def decision_outcome(steps: Iterable[Step], run: int) -> DecisionOutcome:
    """Return the outcome of a decision in a run. `steps` are those that follow the decision; other runs are ignored."""
    outcome = DecisionOutcome()
    for step in steps:
        if step.run != run or step.kind == "decision":
            break
        if step.kind == "end":
            return replace(outcome, run_status=step.status)
        if step.number:
            outcome = replace(
                outcome,
                steps=outcome.steps + 1,
                failed=outcome.failed + (step.status == "failed"),
                files=outcome.files + step.metrics.get("files", 0),
                added=outcome.added + step.metrics.get("added", 0),
                removed=outcome.removed + step.metrics.get("removed", 0),
                tokens=outcome.tokens + step.tokens,
                cost=outcome.cost + step.cost,
                duration=outcome.duration + max(0, step.ended_at - step.started_at if step.ended_at else 0),
                open=outcome.open or step.status in OPEN_STATUSES,
            )
    return outcome
