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

    async def apply(self, proposal: Proposal) -> str:
        """Apply a proposal and return its result. Applying it twice has no further effect."""
        source = MemorySource(
            _author(proposal), proposal.session, 0, f"{proposal.reason} (proposal {proposal.id})".strip()
        )
        if result := self._already_applied(proposal, source):
            return result
        if proposal.action == "create":
            saved = await self._memories.save(from_proposal(proposal.text, proposal.details), source)
            return f"{saved.memory.id}:{1 if saved.did == 'created' else saved.memory.version}"
        target = self._memories.get(proposal.target)
        if proposal.action == "archive":
            return _change_name(await self._memories.archive(target.id, by=source))
        if (
            proposal.base_version
            and target.version != proposal.base_version
            and target.content.text != self._base_text(proposal)
        ):
            advice = "Compare both, edit the proposal, then accept it."
            raise Problem(
                "The memory has changed since the proposal.", f"Its text is now: {target.content.text}", advice
            )
        changed = [await self._memories.edit(target.id, with_text(target, proposal.text), by=source)]
        for other_id in json.loads(proposal.details or "{}").get("with", ()):
            changed += [await self._memories.archive(other_id, by=source)]
        return " ".join(map(_change_name, changed))

    async def undo(self, proposal: Proposal) -> None:
        """Undo every change the proposal made."""
        for change in reversed(proposal.result.split()):
            name, _, number = change.partition(":")
            await self._memories.undo(name, int(number))

    def current_text(self, proposal: Proposal) -> str | None:
        """Return the current text of the target memory, or None if the target does not exist."""
        if not proposal.target:
            return None
        try:
            return self._memories.get(proposal.target).content.text
        except Problem:
            return None

    def _already_applied(self, proposal: Proposal, source: MemorySource) -> str:
        """Return the result if the proposal was applied before a crash that prevented recording it, else ""."""
        matches = self._memories.find(proposal.text, limit=5) if proposal.action == "create" else []
        for match in matches:
            changes = self._memories.changes(match.memory.id)
            undone = undone_changes(changes)
            for change in changes:
                if (
                    change.reason == source.reason
                    and change.action in {"created", "reinforced"}
                    and change.number not in undone
                ):
                    return f"{match.memory.id}:{change.number}"
        return ""

    def _base_text(self, proposal: Proposal) -> str:
        texts = [
            change.content.text
            for change in self._memories.changes(proposal.target)[: proposal.base_version]
            if change.content
        ]
        return texts[-1] if texts else ""


def _author(proposal: Proposal) -> MemoryAuthor:
    return "review" if proposal.author == "review" else "import" if proposal.author == "import" else "agent"


def _change_name(memory: Memory) -> str:
    return f"{memory.id}:{memory.version}"
