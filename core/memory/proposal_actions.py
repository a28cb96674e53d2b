"""Applies and undoes accepted proposals about memories."""

import json

from core.domain.memory import Memory, MemoryAuthor, undone_changes
from core.domain.problems import Problem
from core.domain.proposal import Proposal
from core.memory.memories import Memories, with_text
from core.memory.saving import MemorySource
from core.memory.serialization import from_proposal


class MemoryProposals:
    """Applies and undoes proposals about memories.

    The result of a proposal lists the changes it made, each as `memory:number`, separated by spaces.
    """

    def __init__(self, memories: Memories) -> None:
        self._memories = memories

    async def apply(self, wanted: Proposal) -> str:
        """Apply a proposal and return its result. Applying it twice has no further effect."""
        source = MemorySource(_author(wanted), wanted.session, 0, f"{wanted.reason} (proposal {wanted.id})".strip())
        if done := self._already_applied(wanted, source):
            return done
        if wanted.action == "create":
            kept = await self._memories.save(from_proposal(wanted.text, wanted.details), source)
            return f"{kept.memory.id}:{1 if kept.did == 'created' else kept.memory.version}"
        target = self._memories.get(wanted.target)
        if wanted.action == "archive":
            return _change_name(await self._memories.archive(target.id, by=source))
        if (
            wanted.base_version
            and target.version != wanted.base_version
            and target.content.text != self._base_text(wanted)
        ):
            do = "Compare both, edit the proposal, then accept it."
            raise Problem("The memory has changed since the proposal.", f"Its text is now: {target.content.text}", do)
        made = [await self._memories.edit(target.id, with_text(target, wanted.text), by=source)]
        for other in json.loads(wanted.details or "{}").get("with", ()):
            made += [await self._memories.archive(other, by=source)]
        return " ".join(map(_change_name, made))

    async def undo(self, wanted: Proposal) -> None:
        """Undo every change the proposal made."""
        for made in reversed(wanted.result.split()):
            name, _, number = made.partition(":")
            await self._memories.undo(name, int(number))

    def current_text(self, wanted: Proposal) -> str | None:
        """Return the current text of the target memory, or None if the target does not exist."""
        if not wanted.target:
            return None
        try:
            return self._memories.get(wanted.target).content.text
        except Problem:
            return None

    def _already_applied(self, wanted: Proposal, source: MemorySource) -> str:
        """Return the result if the proposal was applied before a crash that prevented recording it, else ""."""
        near = self._memories.find(wanted.text, limit=5) if wanted.action == "create" else []
        for one in near:
            changes = self._memories.changes(one.memory.id)
            back = undone_changes(changes)
            for change in changes:
                if (
                    change.reason == source.reason
                    and change.action in {"created", "reinforced"}
                    and change.number not in back
                ):
                    return f"{one.memory.id}:{change.number}"
        return ""

    def _base_text(self, wanted: Proposal) -> str:
        said = [one.content.text for one in self._memories.changes(wanted.target)[: wanted.base_version] if one.content]
        return said[-1] if said else ""


def _author(wanted: Proposal) -> MemoryAuthor:
    return "review" if wanted.author == "review" else "import" if wanted.author == "import" else "agent"


def _change_name(memory: Memory) -> str:
    return f"{memory.id}:{memory.version}"
