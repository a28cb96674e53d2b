"""How a run ended, as a memory: what was wanted, what was tried, with what, how it went; and what of memory it used."""

from collections import Counter
from collections.abc import Collection

from core.domain.memory import Memory, Said, sentence
from core.memory.guard import without_secrets
from core.memory.words import telling
from core.store.memory_rows import Use
from core.store.memory_runs import Ended, Row

TASK, TRIED, ERROR = 300, 400, 200  # characters
ACTS = frozenset(
    {"read", "write", "edit", "find", "search", "command", "check", "fetch", "search_web", "delegate", "tool", "skill"}
)
NAMED = frozenset({"command", "edit", "write", "skill", "delegate"})  # acts whose objects say what was tried
USED_SHARE = 0.5  # of the words that only the memory brought


def outcome(ended: Ended) -> Said | None:
    """None where nothing was asked of the run."""
    task = next((row.object for row in ended.rows if row.kind == "person"), "")
    if not task.strip():
        return None
    acts = [row for row in ended.rows if row.kind in ACTS]
    parts = {
        "task": _short(task.rstrip(".!? "), TASK),
        "tried": _short("; ".join(_tried(acts)), TRIED),
        "tools": ", ".join(f"{kind} {count}" for kind, count in Counter(row.kind for row in acts).most_common(8)),
        "status": ended.status,
        "error": _short(_error(ended, acts), ERROR),
        "seconds": f"{ended.seconds:.0f}",
        "run": str(ended.run),
    }
    told = {name: without_secrets(text) for name, text in parts.items() if text}
    return Said("outcome", sentence("outcome", told), "folder", ended.folder, parts=told)


def judged(memory: Memory, went: str) -> Said:
    """The same outcome with a verdict, or without one again."""
    rest = {name: text for name, text in memory.said.parts.items() if name != "verdict"}
    told = rest | ({"verdict": f"and went {'well' if went == 'good' else 'badly'}"} if went else {})
    said = memory.said
    return Said(said.kind, sentence("outcome", told), said.reach, said.place, said.around, said.confidence, told)


def used(use: Use, memory: Memory, question: str, said: str) -> bool:
    """Did the run use what it was told? It named the memory, or said again what only that had told it."""
    if memory.id in said:
        return True
    brought = set(telling(memory.said.text)) - set(telling(question))
    return bool(brought) and len(brought & set(telling(said))) >= max(1, USED_SHARE * len(brought))


def _tried(acts: Collection[Row]) -> list[str]:
    """What was changed and run, each once, in order."""
    named = [f"{row.kind} {row.object}".strip() for row in acts if row.kind in NAMED]
    return list(dict.fromkeys(named))[:8]


def _error(ended: Ended, acts: Collection[Row]) -> str:
    if ended.status == "completed":
        return ""
    failed = [f"{row.kind} {row.object}" for row in acts if row.status == "failed"]
    return "; ".join(part for part in (ended.reason, *failed[-1:]) if part)


def _short(text: str, most: int) -> str:
    words = " ".join(text.split())
    return words if len(words) <= most else words[: most - 1] + "…"
