"""Detects runs that completed without doing anything, although their task asked for work."""

from collections.abc import Iterable

from core.domain.steps import Step

ENDED_IDLE = "Ended without doing anything"


def ended_idle(steps: Iterable[Step]) -> bool:
    """Return whether a run completed without any tool call of the model, although its task asked for work.

    Calls that Journeyman itself made, for example to read the files that the task names, do not count. `steps` must
    include the user messages of the run and its header, which has the totals of the whole run.
    """
    # Imported here, so that the patterns in this module are compiled only when a run has ended.
    from core.models.work_phrases import asks_for_work, possible_results

    rows = list(steps)
    header = next((step for step in rows if step.kind == "run"), None)
    tasks = [step.object for step in rows if step.kind == "user"]
    asks = any(asks_for_work(task) or possible_results(task, has_source=False) for task in tasks)
    if header is None or header.status != "completed" or not asks:
        return False
    return header.metrics.get("calls", 0) <= header.metrics.get("own_calls", 0)
