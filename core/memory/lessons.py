"""Derives proposals from many memories: lessons from similar outcomes, and pairs of near-duplicates."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core.domain.memory import Memory, MemoryContent, sentence
from core.memory.similarity import contradicts
from core.memory.tokenizer import content_words

MIN_OUTCOMES = 3  # similar outcomes needed for a lesson
LIKE_TASKS, LIKE_WAYS = 0.5, 0.5  # minimum share of common words in similar tasks and in similar approaches
LIKE = 0.55  # minimum share of common words in near-duplicates
NEWEST = 400  # number of newest memories that are compared with each other


@dataclass(frozen=True, slots=True)
class Lesson:
    """A lesson to propose, and the outcomes that support it, newest first."""

    said: MemoryContent
    outcomes: tuple[Memory, ...]

    @property
    def reason(self) -> str:
        """A sentence with the number of outcomes."""
        went = "went well" if self.said.kind == "heuristic" else "went badly"
        return f"{len(self.outcomes)} similar runs {went}, the last in session {self.outcomes[0].session}."


def derive_lessons(outcomes: Iterable[Memory], least: int = MIN_OUTCOMES) -> list[Lesson]:
    """Derive heuristics from groups of similar good outcomes, and anti-patterns from groups of similar bad outcomes.

    A group is ignored if a similar outcome went the other way. Runs that completed without a rating are ignored.
    """
    good: list[list[Memory]] = []
    bad: list[list[Memory]] = []
    for one in sorted(outcomes, key=lambda memory: -memory.created_at):
        went = _result(one)
        if went and one.content.fields.get("tried"):
            _add_to_group(one, good if went == "good" else bad)
    found = [_heuristic(group) for group in good if len(group) >= least and not _any_similar(group[0], bad)]
    return found + [_anti_pattern(group) for group in bad if len(group) >= least and not _any_similar(group[0], good)]


def find_duplicates(memories: Iterable[Memory]) -> list[tuple[Memory, Memory]]:
    """Return pairs of near-duplicates: the memory to keep, then the other. A memory occurs in at most one pair."""
    active = [one for one in memories if one.status == "active" and one.content.kind != "outcome"]
    active = sorted(active, key=lambda memory: -memory.created_at)[:NEWEST]
    words = {one.id: frozenset(content_words(one.content.text)) for one in active}
    taken: set[str] = set()
    found = []
    for place, one in enumerate(active):
        for other in active[place + 1 :]:
            if {one.id, other.id} & taken or _key(one) != _key(other) or other.id in one.conflicts:
                continue
            both, all_of = words[one.id] & words[other.id], words[one.id] | words[other.id]
            if all_of and len(both) / len(all_of) >= LIKE and not contradicts(one.content.text, other.content.text):
                taken |= {one.id, other.id}
                found.append((one, other) if _rank(one) >= _rank(other) else (other, one))
    return found


def same_lesson(one: MemoryContent, other: MemoryContent) -> bool:
    """Return whether two contents are the same lesson from similar tasks and approaches, however they are worded."""
    if (one.kind, one.scope, one.scope_id) != (other.kind, other.scope, other.scope_id):
        return False
    names = ("when", "do", "what")  # the reason is left out: it says how the newest run failed
    said, known = (" ".join(content.fields.get(name, "") for name in names).strip() for content in (one, other))
    return bool(said and known) and _overlap(said, known) >= LIKE_TASKS


def _result(outcome: Memory) -> str:
    """Return "good" or "bad" for an outcome with a rating, "bad" for an unrated failure, and otherwise ""."""
    parts = outcome.content.fields
    verdict = parts.get("rating", "")
    if verdict:
        return "good" if "well" in verdict else "bad"
    return "bad" if parts.get("status") == "failed" and parts.get("error") else ""


def _add_to_group(one: Memory, groups: list[list[Memory]]) -> None:
    group = next((group for group in groups if _are_similar(group[0], one)), None)
    if group is None:
        groups.append([one])
    else:
        group.append(one)


def _any_similar(one: Memory, groups: Sequence[Sequence[Memory]]) -> bool:
    return any(_are_similar(group[0], one) for group in groups)


def _are_similar(a: Memory, b: Memory) -> bool:
    """Return whether two outcomes have the same scope, a similar task and a similar approach."""
    one, other = a.content.fields, b.content.fields
    if (a.content.scope, a.content.scope_id) != (b.content.scope, b.content.scope_id):
        return False
    tasks = _overlap(one.get("task", ""), other.get("task", "")) >= LIKE_TASKS
    return tasks and _overlap(one.get("tried", ""), other.get("tried", "")) >= LIKE_WAYS


def _overlap(a: str, b: str) -> float:
    if a == b:
        return 1.0
    one, other = set(content_words(a)), set(content_words(b))
    return len(one & other) / len(one | other) if min(len(one), len(other)) > 1 else 0.0


def _heuristic(group: Sequence[Memory]) -> Lesson:
    newest = group[0].content
    parts = {"when": f"the task is like “{newest.fields['task']}”", "do": newest.fields["tried"]}
    return _lesson("heuristic", parts, group)


def _anti_pattern(group: Sequence[Memory]) -> Lesson:
    newest = group[0].content.fields
    parts = {
        "what": f"do “{newest['task']}” by {newest['tried']}",
        "why": newest.get("error", "") or "it went badly each time",
    }
    return _lesson("anti-pattern", parts, group)


def _lesson(kind: str, parts: dict[str, str], group: Sequence[Memory]) -> Lesson:
    newest = group[0].content
    sure = len(group) / (len(group) + 2)  # Few outcomes give little confidence.
    if kind == "heuristic":
        said = MemoryContent("heuristic", sentence("heuristic", parts), newest.scope, newest.scope_id, "", sure, parts)
    else:
        said = MemoryContent(
            "anti-pattern", sentence("anti-pattern", parts), newest.scope, newest.scope_id, "", sure, parts
        )
    return Lesson(said, tuple(group))


def _key(memory: Memory) -> tuple[str, str, str]:
    return memory.content.kind, memory.content.scope, memory.content.scope_id


def _rank(memory: Memory) -> tuple[bool, int, int]:
    """Return the sort key of a memory: written or pinned by the user, then number of good runs, then evidence."""
    return memory.never_decays, memory.usage.good_runs, memory.evidence
