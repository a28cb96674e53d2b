"""Which memories a session was told and which skills it used, and what of that only one of two sessions had."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

LEARNT_KINDS = ("memory_recalled", "skill_used")


class Learnt(NamedTuple):
    """The words of each memory by its id; the version of each skill, the last one where there were several."""

    memories: Mapping[str, str] = {}
    skills: Mapping[str, int] = {}

    def without(self, other: "Learnt") -> "Learnt":
        """What the other one had not; another version of a skill is another skill."""
        memories = {name: text for name, text in self.memories.items() if name not in other.memories}
        skills = {name: version for name, version in self.skills.items() if other.skills.get(name) != version}
        return Learnt(memories, skills)


def learnt(lines: Iterable[Mapping[str, Any]]) -> Learnt:
    """From lines of a journal as they are stored."""
    memories: dict[str, str] = {}
    skills: dict[str, int] = {}
    for line in lines:
        if line["kind"] == "memory_recalled":
            memories |= {item["memory"]: item["text"] for item in line["items"]}
        elif line["kind"] == "skill_used":
            skills[line["name"]] = line["version"]
    return Learnt(memories, skills)
