"""Daily maintenance: archive decayed memories, and propose lessons and merges."""

import json

from core.domain.memory import MemoryContent
from core.domain.proposal import Proposal
from core.memory.lessons import derive_lessons, find_duplicates, same_lesson
from core.memory.memories import Memories
from core.memory.serialization import from_proposal, to_proposal_details
from core.store.proposal_store import ProposalStore


async def run_daily_maintenance(memories: Memories, proposals: ProposalStore) -> tuple[list[str], list[Proposal]]:
    """Archive and propose. Return the IDs of the archived memories and the new proposals.

    Changes that were proposed before are not proposed again, whatever the user decided.
    """
    archived = await memories.archive_decayed()
    created = [await proposals.create(candidate) for candidate in pending_proposals(memories, proposals)]
    return archived, created


def pending_proposals(memories: Memories, proposals: ProposalStore) -> list[Proposal]:
    """Return what the maintenance would propose now."""
    earlier = proposals.find(target_kind="memory")
    return [
        candidate
        for candidate in _new_proposals(memories)
        if not any(_proposes_same(candidate, other) for other in earlier) and not _is_known(memories, candidate)
    ]


def _proposes_same(proposal: Proposal, other: Proposal) -> bool:
    """Return whether two proposals are about the same lesson or merge the same memories.

    The texts cannot be compared, because each outcome changes the wording of a lesson.
    """
    if (proposal.action, proposal.author) != (other.action, other.author):
        return (proposal.action, proposal.target, proposal.text) == (other.action, other.target, other.text)
    if proposal.action == "merge":
        return _merged(proposal) == _merged(other)
    return proposal.action == "create" and same_lesson(_proposed(proposal), _proposed(other))


def _proposed(proposal: Proposal) -> MemoryContent:
    """Return the content as it was proposed, before the user edited it."""
    return from_proposal(json.loads(proposal.details or "{}").get("text", proposal.text), proposal.details)


def _merged(proposal: Proposal) -> set[str]:
    return {proposal.target, *json.loads(proposal.details or "{}").get("with", ())}


def _new_proposals(memories: Memories) -> list[Proposal]:
    proposals = [
        Proposal(
            "", "memory", "create", "", lesson.content.text, lesson.reason, details=to_proposal_details(lesson.content),
            session=lesson.outcomes[0].session, author="review",
        )
        for lesson in derive_lessons(memories.listed(kind="outcome"))
    ]  # fmt: skip
    for memory, other in find_duplicates(memories.listed()):
        text = max(memory.content.text, other.content.text, key=len)
        proposals.append(
            Proposal(
                "", "memory", "merge", memory.id, text, f"{other.id} says nearly the same: {other.content.text}",
                memory.version, details=json.dumps({"with": [other.id]}), session=memory.session, author="review",
            )
        )  # fmt: skip
    return proposals


def _is_known(memories: Memories, proposal: Proposal) -> bool:
    """Return whether the memory to be created exists already."""
    if proposal.action == "create":
        return any(match.memory.content.text == proposal.text for match in memories.find(proposal.text, limit=3))
    return False
