"""Describes a finished run as a memory (task, approach, tools, result), and determines which memories it used."""

from collections import Counter
from collections.abc import Collection

from core.domain.memory import Memory, MemoryContent, sentence
from core.memory.content_checks import redact
from core.memory.tokenizer import content_words
from core.store.memory_records import MemoryUse
from core.store.run_reader import FinishedRun, FinishedStep

TASK, TRIED, ERROR = 300, 400, 200  # maximum lengths of these fields, in characters
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
REPORTED_KINDS = frozenset({"command", "edit", "write", "skill", "delegate"})  # kinds of steps that show the approach
USED_SHARE = 0.5  # minimum share of the memory's own words that a run must repeat to have used it


def build_outcome(ended: FinishedRun, *, untrusted: bool = False) -> MemoryContent | None:
    """Return the content of the outcome memory, or None if the run had no task.

    After `untrusted` content, it leaves out what that content may have dictated: the commands and the error.
    """
    task = next((row.object for row in ended.steps if row.kind == "user"), "")
    if not task.strip():
        return None
    acts = [row for row in ended.steps if row.kind in ACTION_KINDS]
    parts = {
        "task": _short(task.rstrip(".!? "), TASK),
        "tried": "" if untrusted else _short("; ".join(_approach(acts)), TRIED),
        "tools": ", ".join(f"{kind} {count}" for kind, count in Counter(row.kind for row in acts).most_common(8)),
        "status": ended.status,
        "error": "" if untrusted else _short(_error(ended, acts), ERROR),
        "seconds": f"{ended.seconds:.0f}",
        "run": str(ended.run),
    }
    filled = {name: redact(text) for name, text in parts.items() if text}
    return MemoryContent("outcome", sentence("outcome", filled), "folder", ended.folder, fields=filled)


def with_rating(memory: Memory, went: str) -> MemoryContent:
    """Return the content of an outcome with the rating `went`. If `went` is empty, the rating is removed."""
    rest = {name: text for name, text in memory.content.fields.items() if name != "rating"}
    filled = rest | ({"rating": f"and went {'well' if went == 'good' else 'badly'}"} if went else {})
    said = memory.content
    return MemoryContent(
        said.kind, sentence("outcome", filled), said.scope, said.scope_id, said.context, said.confidence, filled
    )


def was_used(use: MemoryUse, memory: Memory, question: str, said: str) -> bool:
    """Return whether a run used a memory: its text `said` contains the ID, or words that only the memory contained."""
    if memory.id in said:
        return True
    brought = set(content_words(memory.content.text)) - set(content_words(question))
    return bool(brought) and len(brought & set(content_words(said))) >= max(1, USED_SHARE * len(brought))


def _approach(acts: Collection[FinishedStep]) -> list[str]:
    """Return what the run changed and executed, in order and without duplicates."""
    named = [f"{row.kind} {row.object}".strip() for row in acts if row.kind in REPORTED_KINDS]
    return list(dict.fromkeys(named))[:8]


def _error(ended: FinishedRun, acts: Collection[FinishedStep]) -> str:
    if ended.status == "completed":
        return ""
    failed = [f"{row.kind} {row.object}" for row in acts if row.status == "failed"]
    return "; ".join(part for part in (ended.reason, *failed[-1:]) if part)


def _short(text: str, most: int) -> str:
    words = " ".join(text.split())
    return words if len(words) <= most else words[: most - 1] + "…"
