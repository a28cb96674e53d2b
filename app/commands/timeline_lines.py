"""The lines in which the commands print timelines. It imports little, so that they are printed at once."""

from app.process.quantities import plural, token_count
from core.domain.step_verbs import verb

TYPE_CHECKING = False  # importing typing takes noticeable time
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from core.domain.sessions import SessionRow
    from core.domain.steps import Step


def timeline_lines(row: "SessionRow", steps: "Iterable[Step]") -> "Iterator[str]":
    """Yield the title and the totals of a session, then a line for each of its steps and messages."""
    yield row.title
    yield (
        f"{row.folder} · {row.model} · {row.status} · {plural(row.turns, 'turn')}"
        f" · {token_count(row.tokens, row.turns)}"
    )
    for step in steps:
        if step.number:
            yield step_line(step)
        elif step.kind in {"user", "reply"}:
            yield f"       {'You: ' if step.kind == 'user' else ''}{step.object}"
        elif step.kind == "memory":
            yield f"       Recalled {step.object}"
        elif step.kind == "notice":
            yield notice_line(step)


def notice_line(step: "Step") -> str:
    """Return a notice, such as that a run approaches one of its limits, as a line of text."""
    return f"       {verb(step.kind, step.status)}: {step.object}"


def step_line(step: "Step") -> str:
    """Return the line that describes a step."""
    metrics = step.metrics
    parts = [f"exit {metrics['exit_code']}"] if "exit_code" in metrics else []
    if metrics.get("files"):
        parts.append(f"+{metrics.get('added', 0)} −{metrics.get('removed', 0)}")
    if metrics.get("changed"):
        parts.append("allowed with your changes")
    if step.status not in {"done", "completed"}:
        parts.append(step.status)
    parts.append(f"{(step.ended_at - step.started_at) / 1e6:.1f}s" if step.ended_at else "…")
    return f"{step.number:5}  {verb(step.kind, step.status):8} {step.object}  ({', '.join(parts)})"
