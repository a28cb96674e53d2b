"""Applies and undoes accepted proposals about memories."""

import json

from core.domain.memory import MemoryAuthor, undone_changes
from core.domain.problems import Problem
from core.domain.proposal import MemoryChangeRef, MemoryResult, Proposal
from core.memory.lessons import outcome_rating
from core.memory.memories import Memories, with_text
from core.memory.saving import MemorySource
from core.memory.serialization import from_proposal, outcomes_of


class MemoryProposals:
    """Applies and undoes proposals about memories."""

    def __init__(self, memories: Memories) -> None:
        self._memories = memories

    async def apply(self, proposal: Proposal) -> MemoryResult:
        """Apply a proposal and return its result. Applying it again, as after a crash, has no further effect."""
        source = MemorySource(
            _author(proposal), proposal.session, 0, f"{proposal.reason} (proposal {proposal.id})".strip()
        )
        if result := self._already_applied(proposal, source):
            return result
        if proposal.action == "create":
            saved = await self._memories.save(from_proposal(proposal.text, proposal.details), source)
            number = 1 if saved.did == "created" else saved.memory.version
            return MemoryResult((MemoryChangeRef(saved.memory.id, number),))
        target = self._memories.get(proposal.target)
        if proposal.action == "archive":
            await self._memories.archive(target.id, by=source)
            return MemoryResult(self._made(proposal, target.id))
        if (
            proposal.base_version
            and target.version != proposal.base_version
            and target.content.text != self._base_text(proposal)
        ):
            advice = "Compare both, edit the proposal, then accept it."
            raise Problem(
                "The memory has changed since the proposal.", f"Its text is now: {target.content.text}", advice
            )
        await self._memories.edit(target.id, with_text(target, proposal.text), by=source)
        others = json.loads(proposal.details or "{}").get("with", ())
        for other_id in others:
            await self._memories.archive(other_id, by=source)
        return MemoryResult(tuple(change for memory in (target.id, *others) for change in self._made(proposal, memory)))

    async def undo(self, proposal: Proposal) -> None:
        """Undo every change that a proposal made.

        Results of earlier versions also list the last change of a memory whose text the proposal did not change; such a
        change is not undone.
        """
        changes = proposal.result.changes if isinstance(proposal.result, MemoryResult) else ()
        for change in reversed(changes):
            if proposal.action == "create" or change in self._made(proposal, change.memory):
                await self._memories.undo(change.memory, change.number)

    def current_text(self, proposal: Proposal) -> str | None:
        """Return the current text of the memory that a proposal would change; None if it does not exist."""
        if not proposal.target:
            return None
        try:
            return self._memories.get(proposal.target).content.text
        except Problem:
            return None

    def rating_change(self, proposal: Proposal) -> str:
        """Return, as a sentence, how the ratings of the runs behind a proposed lesson have changed; "" if not."""
        return rating_change(self._memories, proposal)

    def _made(self, proposal: Proposal, memory: str) -> tuple[MemoryChangeRef, ...]:
        """Return the changes of a memory that a proposal made and that were not undone."""
        changes = self._memories.changes(memory)
        undone = undone_changes(changes)
        return tuple(
            MemoryChangeRef(memory, change.number)
            for change in changes
            if change.reason.endswith(f"(proposal {proposal.id})") and change.number not in undone
        )

    def _already_applied(self, proposal: Proposal, source: MemorySource) -> MemoryResult | None:
        """Return the result of a proposal that was applied before a crash, but not recorded as applied."""
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
                    return MemoryResult((MemoryChangeRef(match.memory.id, change.number),))
        return None

    def _base_text(self, proposal: Proposal) -> str:
        texts = [
            change.content.text
            for change in self._memories.changes(proposal.target)[: proposal.base_version]
            if change.content
        ]
        return texts[-1] if texts else ""


def rating_change(memories: Memories, proposal: Proposal) -> str:
    """Return, as a sentence, how the ratings of the runs behind a proposed lesson have changed; "" if they have not."""
    if not (outcomes := outcomes_of(proposal.details)):
        return ""
    expected = "good" if from_proposal(proposal.text, proposal.details).kind == "heuristic" else "bad"
    found = memories.store.read(lambda rows: [rows.get(outcome) for outcome in outcomes])
    supporting = sum(outcome is not None and outcome_rating(outcome) == expected for outcome in found)
    if supporting == len(outcomes):
        return ""
    return f"Ratings have changed since: {supporting} of these {len(outcomes)} runs are still rated {expected}."


def _author(proposal: Proposal) -> MemoryAuthor:
    return "review" if proposal.author == "review" else "import" if proposal.author == "import" else "agent"
