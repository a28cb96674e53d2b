"""Detects runs that completed without doing anything for a task that asked for work."""

from collections.abc import Iterable

from core.domain.steps import Step

ENDED_IDLE = "Ended without doing anything"


def ended_idle(steps: Iterable[Step]) -> bool:
    """Return whether a run completed without any tool call although its task asked for work.

    `steps` are rows of the run, with at least its message and its header, which has the figures of the whole run.
    """
    # The patterns of this module are compiled only when a run has ended.
    from core.models.work_phrases import asks_for_work, possible_results

    rows = list(steps)
    header = next((step for step in rows if step.kind == "run"), None)
    tasks = [step.object for step in rows if step.kind == "user"]
    asks = any(asks_for_work(task) or possible_results(task, has_source=False) for task in tasks)
    return bool(header and header.status == "completed" and not header.metrics.get("calls") and asks)
