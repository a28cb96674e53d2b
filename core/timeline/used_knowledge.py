"""The memories and skills that a session used, to compare it with another session."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

KNOWLEDGE_KINDS = ("memories_recalled", "skill_used")


class UsedKnowledge(NamedTuple):
    """The text of each memory by its ID, and the version of each skill by its name (the last that was used)."""

    memories: Mapping[str, str] = {}
    skills: Mapping[str, int] = {}

    def without(self, other: "UsedKnowledge") -> "UsedKnowledge":
        """Return what the other session did not use. A skill in another version counts as another skill."""
        memories = {name: text for name, text in self.memories.items() if name not in other.memories}
        skills = {name: version for name, version in self.skills.items() if other.skills.get(name) != version}
        return UsedKnowledge(memories, skills)


def find_used_knowledge(lines: Iterable[Mapping[str, Any]]) -> UsedKnowledge:
    """Return what a session used, from stored events as JSON."""
    memories: dict[str, str] = {}
    skills: dict[str, int] = {}
    for line in lines:
        if line["kind"] == "memories_recalled":
            memories |= {item["memory_id"]: item["text"] for item in line["memories"]}
        elif line["kind"] == "skill_used":
            skills[line["name"]] = line["version"]
    return UsedKnowledge(memories, skills)
