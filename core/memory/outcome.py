"""Describes a finished run as an outcome memory (task, approach, tools, result) and finds the memories that it used."""

from collections import Counter
from collections.abc import Collection
from dataclasses import replace

from core.domain.memory import Memory, MemoryContent, sentence
from core.memory.content_checks import redact
from core.memory.tokenizer import content_words
from core.store.memory_records import MemoryUse
from core.store.run_reader import FinishedRun, FinishedStep

# The maximum number of characters of these fields.
MAX_TASK_CHARS = 300
MAX_APPROACH_CHARS = 400
MAX_ERROR_CHARS = 200
MAX_ACTIONS = 8  # maximum number of actions in the description of an approach
MAX_TOOLS = 8  # maximum number of tools that are listed
ACTION_KINDS = frozenset(
    {
        "read",
        "write",
        "edit",
        "find",
        "search",
        "command",
        "check_command",
        "fetch",
        "search_web",
        "delegate",
        "tool",
        "skill",
    }
)
# Kinds of steps that show the approach of a run.
REPORTED_KINDS = frozenset({"command", "edit", "write", "skill", "delegate"})
USED_SHARE = 0.5  # share of a memory's own words that a run's replies must contain to count as a use


def build_outcome(run: FinishedRun, min_outcomes: int = 0, *, untrusted: bool = False) -> MemoryContent | None:
    """Return the content of a run's outcome memory, or None if the run had no task.

    `min_outcomes` is the number of similar outcomes required for a lesson; 0 means the default. `untrusted`: the run
    had read untrusted content, so commands and the error, which that may have dictated, are left out.
    """
    task = next((step.object for step in run.steps if step.kind == "user"), "")
    if not task.strip():
        return None
    actions = [step for step in run.steps if step.kind in ACTION_KINDS]
    tools = Counter(step.kind for step in actions).most_common(MAX_TOOLS)
    fields = {
        "task": _short(task.rstrip(".!? "), MAX_TASK_CHARS),
        "tried": "" if untrusted else _short("; ".join(_approach(actions)), MAX_APPROACH_CHARS),
        "tools": ", ".join(f"{kind} {count}" for kind, count in tools),
        "status": run.status,
        "error": "" if untrusted else _short(_error_text(run, actions), MAX_ERROR_CHARS),
        "seconds": f"{run.seconds:.0f}",
        "run": str(run.run),
        "least": str(min_outcomes or ""),
    }
    redacted = {name: redact(text) for name, text in fields.items() if text}
    return MemoryContent(
        kind="outcome",
        text=sentence("outcome", redacted),
        scope="folder",
        scope_id=run.folder,
        fields=redacted,
    )


def with_rating(memory: Memory, rating: str) -> MemoryContent:
    """Return the content of an outcome memory with this rating, or without a rating if it is ""."""
    content = memory.content
    fields = {name: text for name, text in content.fields.items() if name != "rating"}
    if rating:
        fields["rating"] = f"and went {'well' if rating == 'good' else 'badly'}"
    return replace(content, text=sentence("outcome", fields), fields=fields)


def was_used(use: MemoryUse, memory: Memory, question: str, replies: str) -> bool:
    """Return whether a run used a memory: its replies contain the memory's id, or words only the memory contained."""
    if memory.id in replies:
        return True
    own_words = set(content_words(memory.content.text)) - set(content_words(question))
    used_words = own_words & set(content_words(replies))
    return bool(used_words) and len(used_words) >= USED_SHARE * len(own_words)


def _approach(steps: Collection[FinishedStep]) -> list[str]:
    """Return the changes and commands of a run, in order and without duplicates."""
    actions = [f"{step.kind} {step.object}".strip() for step in steps if step.kind in REPORTED_KINDS]
    return list(dict.fromkeys(actions))[:MAX_ACTIONS]


def _error_text(run: FinishedRun, steps: Collection[FinishedStep]) -> str:
    if run.status == "completed":
        return ""
    reason = "" if run.status == "stopped" else run.reason  # a stop by the user is not an error
    failed = [f"{step.kind} {step.object}" for step in steps if step.status == "failed"]
    return "; ".join(part for part in (reason, *failed[-1:]) if part)


def _short(text: str, limit: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
