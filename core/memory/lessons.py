"""What can be told of many: lessons from like outcomes, and memories that say nearly the same. Only proposed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core.domain.memory import Memory, Said, sentence
from core.memory.alike import contrary
from core.memory.words import telling

LEAST = 3  # like outcomes that make a lesson
LIKE_TASKS, LIKE_WAYS = 0.5, 0.5  # of the words of both
LIKE = 0.55  # of the words of two memories that are worth one
NEWEST = 400  # memories that are compared


@dataclass(frozen=True, slots=True)
class Lesson:
    """What is to be learnt, and the outcomes it rests on."""

    said: Said
    rests_on: tuple[Memory, ...]

    @property
    def reason(self) -> str:
        """In words, with its n."""
        went = "went well" if self.said.kind == "heuristic" else "went badly"
        return f"{len(self.rests_on)} like runs {went}, the last in session {self.rests_on[0].session}."


def lessons(outcomes: Iterable[Memory], least: int = LEAST) -> list[Lesson]:
    """Heuristics from ways that went well, anti-patterns from those that went badly; nothing where both happened.

    That a run was completed says nothing: only what somebody judged counts, or what failed.
    """
    good: list[list[Memory]] = []
    bad: list[list[Memory]] = []
    for one in sorted(outcomes, key=lambda memory: -memory.made):
        went = _went(one)
        if went and one.said.parts.get("tried"):
            _put(one, good if went == "good" else bad)
    found = [_heuristic(group) for group in good if len(group) >= least and not _any_like(group[0], bad)]
    return found + [_anti_pattern(group) for group in bad if len(group) >= least and not _any_like(group[0], good)]


def pairs(memories: Iterable[Memory]) -> list[tuple[Memory, Memory]]:
    """Two that say nearly the same, the one to keep first; each stands in one pair at the most."""
    active = [one for one in memories if one.standing == "active" and one.said.kind != "outcome"]
    active = sorted(active, key=lambda memory: -memory.made)[:NEWEST]
    words = {one.id: frozenset(telling(one.said.text)) for one in active}
    taken: set[str] = set()
    found = []
    for place, one in enumerate(active):
        for other in active[place + 1 :]:
            if {one.id, other.id} & taken or _key(one) != _key(other) or other.id in one.links:
                continue
            both, all_of = words[one.id] & words[other.id], words[one.id] | words[other.id]
            if all_of and len(both) / len(all_of) >= LIKE and not contrary(one.said.text, other.said.text):
                taken |= {one.id, other.id}
                found.append((one, other) if _worth(one) >= _worth(other) else (other, one))
    return found


def _went(outcome: Memory) -> str:
    """How it went, as far as somebody said or the run itself failed; empty where nobody knows."""
    parts = outcome.said.parts
    verdict = parts.get("verdict", "")
    if verdict:
        return "good" if "well" in verdict else "bad"
    return "bad" if parts.get("status") == "failed" and parts.get("error") else ""


def _put(one: Memory, groups: list[list[Memory]]) -> None:
    group = next((group for group in groups if _alike(group[0], one)), None)
    if group is None:
        groups.append([one])
    else:
        group.append(one)


def _any_like(one: Memory, groups: Sequence[Sequence[Memory]]) -> bool:
    return any(_alike(group[0], one) for group in groups)


def _alike(a: Memory, b: Memory) -> bool:
    """Of the same place, a like task, done in a like way."""
    one, other = a.said.parts, b.said.parts
    if (a.said.reach, a.said.place) != (b.said.reach, b.said.place):
        return False
    tasks = _overlap(one.get("task", ""), other.get("task", "")) >= LIKE_TASKS
    return tasks and _overlap(one.get("tried", ""), other.get("tried", "")) >= LIKE_WAYS


def _overlap(a: str, b: str) -> float:
    if a == b:
        return 1.0
    one, other = set(telling(a)), set(telling(b))
    return len(one & other) / len(one | other) if min(len(one), len(other)) > 1 else 0.0


def _heuristic(group: Sequence[Memory]) -> Lesson:
    newest = group[0].said
    parts = {"when": f"the task is like “{newest.parts['task']}”", "do": newest.parts["tried"]}
    return _lesson("heuristic", parts, group)


def _anti_pattern(group: Sequence[Memory]) -> Lesson:
    newest = group[0].said.parts
    why = newest.get("error", "") or "it went badly"
    parts = {"what": f"do “{newest['task']}” by {newest['tried']}", "why": f"it ended so {len(group)} times: {why}"}
    return _lesson("anti-pattern", parts, group)


def _lesson(kind: str, parts: dict[str, str], group: Sequence[Memory]) -> Lesson:
    newest = group[0].said
    sure = len(group) / (len(group) + 2)  # few outcomes make nobody sure
    if kind == "heuristic":
        said = Said("heuristic", sentence("heuristic", parts), newest.reach, newest.place, "", sure, parts)
    else:
        said = Said("anti-pattern", sentence("anti-pattern", parts), newest.reach, newest.place, "", sure, parts)
    return Lesson(said, tuple(group))


def _key(memory: Memory) -> tuple[str, str, str]:
    return memory.said.kind, memory.said.reach, memory.said.place


def _worth(memory: Memory) -> tuple[bool, int, int]:
    """Which of two is kept: a person's own, then the one that helped more, then the one that was learnt more often."""
    return memory.kept_for_good, memory.uses.good, memory.evidence
