"""Derives proposals from many memories: lessons from similar outcomes, and pairs of near-duplicates."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core.domain.memory import CONTEXT_LIMIT, Memory, MemoryContent, MemoryKind, sentence
from core.memory.outcome import REPORTED_KINDS
from core.memory.similarity import contradicts
from core.memory.tokenizer import content_words

MIN_OUTCOMES = 3  # similar outcomes required for a lesson
MIN_TASK_OVERLAP = 0.5  # minimum share of common words in similar tasks
MIN_APPROACH_OVERLAP = 0.5  # minimum share of common words in similar approaches
MIN_APPROACH_WORDS = 4  # An approach with fewer words is similar only to an equal one.
MIN_DUPLICATE_OVERLAP = 0.55  # minimum share of common words in near-duplicates
MAX_COMPARED = 400  # Only this many of the newest memories are compared with each other.

# The kind of step at the start of each action in an outcome.
_STEP_KIND = re.compile(rf"(^|; )(?:{'|'.join(REPORTED_KINDS)}) ")


@dataclass(frozen=True, slots=True)
class Lesson:
    """A lesson to propose, and the outcomes that support it, newest first."""

    content: MemoryContent
    outcomes: tuple[Memory, ...]

    @property
    def reason(self) -> str:
        """A sentence about the outcomes that support the lesson."""
        result = "went well" if self.content.kind == "heuristic" else "went badly"
        return f"{len(self.outcomes)} similar runs {result}, the last in session {self.outcomes[0].session}."


def derive_lessons(outcomes: Iterable[Memory]) -> list[Lesson]:
    """Derive heuristics from groups of similar good outcomes, and anti-patterns from groups of similar bad ones.

    The newest outcome of a group determines the required size. A group is ignored if a similar outcome has the opposite
    rating. Runs without a rating are ignored, even failed ones, which may have failed for any reason.
    """
    good: list[list[Memory]] = []
    bad: list[list[Memory]] = []
    for outcome in sorted(outcomes, key=lambda memory: -memory.created_at):
        verdict = outcome_rating(outcome)
        if verdict and outcome.content.fields.get("tried"):
            _add_to_group(outcome, good if verdict == "good" else bad)
    heuristics = [_heuristic(group) for group in good if _is_large_enough(group) and not _any_similar(group[0], bad)]
    anti_patterns = [
        _anti_pattern(group) for group in bad if _is_large_enough(group) and not _any_similar(group[0], good)
    ]
    return heuristics + anti_patterns


def find_duplicates(memories: Iterable[Memory]) -> list[tuple[Memory, Memory]]:
    """Return pairs of near-duplicates, each with the memory to keep first. A memory occurs in at most one pair."""
    active = [memory for memory in memories if memory.status == "active" and memory.content.kind != "outcome"]
    active = sorted(active, key=lambda memory: -memory.created_at)[:MAX_COMPARED]
    words = {memory.id: frozenset(content_words(memory.content.text)) for memory in active}
    paired: set[str] = set()
    pairs = []
    for index, memory in enumerate(active):
        for other in active[index + 1 :]:
            if {memory.id, other.id} & paired or not _may_be_merged(memory, other):
                continue
            all_words = words[memory.id] | words[other.id]
            common = words[memory.id] & words[other.id]
            is_similar = all_words and len(common) / len(all_words) >= MIN_DUPLICATE_OVERLAP
            if is_similar and not contradicts(memory.content.text, other.content.text):
                paired |= {memory.id, other.id}
                pairs.append((memory, other) if _rank(memory) >= _rank(other) else (other, memory))
    return pairs


def same_lesson(lesson: MemoryContent, other: MemoryContent) -> bool:
    """Return whether two contents are the same lesson about similar tasks and approaches, however they are worded."""
    if (lesson.kind, lesson.scope, lesson.scope_id) != (other.kind, other.scope, other.scope_id):
        return False
    names = ("when", "do", "what")  # without `why`, which depends on how the newest run failed
    text = " ".join(lesson.fields.get(name, "") for name in names).strip()
    other_text = " ".join(other.fields.get(name, "") for name in names).strip()
    return bool(text and other_text) and _overlap(text, other_text) >= MIN_TASK_OVERLAP


def outcome_rating(outcome: Memory) -> str:
    """Return "good" or "bad" for an outcome with a rating, otherwise ""."""
    verdict = outcome.content.fields.get("rating", "")
    return ("good" if "well" in verdict else "bad") if verdict else ""


def _is_large_enough(group: Sequence[Memory]) -> bool:
    return len(group) >= int(group[0].content.fields.get("least", MIN_OUTCOMES))


def _add_to_group(outcome: Memory, groups: list[list[Memory]]) -> None:
    group = next((group for group in groups if _are_similar(group[0], outcome)), None)
    if group is None:
        groups.append([outcome])
    else:
        group.append(outcome)


def _any_similar(outcome: Memory, groups: Sequence[Sequence[Memory]]) -> bool:
    return any(_are_similar(group[0], outcome) for group in groups)


def _are_similar(a: Memory, b: Memory) -> bool:
    """Return whether two outcomes have the same scope and similar tasks and approaches."""
    fields, other_fields = a.content.fields, b.content.fields
    if (a.content.scope, a.content.scope_id) != (b.content.scope, b.content.scope_id):
        return False
    are_similar_tasks = _overlap(fields.get("task", ""), other_fields.get("task", "")) >= MIN_TASK_OVERLAP
    return are_similar_tasks and _are_similar_approaches(fields.get("tried", ""), other_fields.get("tried", ""))


def _are_similar_approaches(a: str, b: str) -> bool:
    """Return whether two approaches have similar actions. Short ones must be equal, because each word matters."""
    if a == b:
        return True
    words, other_words = _approach_words(a), _approach_words(b)
    if min(len(words), len(other_words)) < MIN_APPROACH_WORDS:
        return bool(words) and words == other_words
    return len(words & other_words) / len(words | other_words) >= MIN_APPROACH_OVERLAP


def _approach_words(tried: str) -> set[str]:
    """Return the words of the actions in an approach, without the kinds of steps, which different approaches share."""
    return set(content_words(_STEP_KIND.sub(r"\1", tried)))


def _overlap(a: str, b: str) -> float:
    """Return the share of the words of two texts that they have in common; 0 if one of them has fewer than two."""
    if a == b:
        return 1.0
    words, other_words = set(content_words(a)), set(content_words(b))
    if min(len(words), len(other_words)) < 2:
        return 0.0
    return len(words & other_words) / len(words | other_words)


def _heuristic(group: Sequence[Memory]) -> Lesson:
    newest = group[0].content
    fields = {"when": f"the task is like “{newest.fields['task']}”", "do": newest.fields["tried"]}
    return _lesson("heuristic", fields, group)


def _anti_pattern(group: Sequence[Memory]) -> Lesson:
    newest_fields = group[0].content.fields
    fields = {
        "what": f"do “{newest_fields['task']}” by {newest_fields['tried']}",
        "why": newest_fields.get("error", "") or "it went badly each time",
    }
    return _lesson("anti-pattern", fields, group)


def _lesson(kind: MemoryKind, fields: dict[str, str], group: Sequence[Memory]) -> Lesson:
    newest = group[0].content
    tasks = "\n".join(dict.fromkeys(outcome.content.fields["task"] for outcome in group))[:CONTEXT_LIMIT]
    content = MemoryContent(
        kind=kind,
        text=sentence(kind, fields),
        scope=newest.scope,
        scope_id=newest.scope_id,
        context=tasks,
        confidence=len(group) / (len(group) + 2),  # Few outcomes give little confidence.
        fields=fields,
    )
    return Lesson(content, tuple(group))


def _may_be_merged(memory: Memory, other: Memory) -> bool:
    """Return whether two memories have the same kind and scope and are not known to contradict each other."""
    content, other_content = memory.content, other.content
    if (content.kind, content.scope, content.scope_id) != (
        other_content.kind,
        other_content.scope,
        other_content.scope_id,
    ):
        return False
    return other.id not in memory.conflicts


def _rank(memory: Memory) -> tuple[bool, int, int]:
    """Return a key that ranks memories: first those of the user, then by number of good runs, then by evidence."""
    return memory.never_decays, memory.usage.good_runs, memory.evidence
