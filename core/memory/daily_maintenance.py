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
    known = proposals.find(target_kind="memory")
    new = [one for one in _new_proposals(memories) if not any(_proposes_same(one, other) for other in known)]
    made = [await proposals.create(one) for one in new if not _is_known(memories, one)]
    return archived, made


def _proposes_same(one: Proposal, other: Proposal) -> bool:
    """Return whether two proposals are about the same lesson or merge the same memories.

    The wording of a lesson follows its newest outcome, so that it differs after each new outcome.
    """
    if (one.action, one.author) != (other.action, other.author):
        return (one.action, one.target, one.text) == (other.action, other.target, other.text)
    if one.action == "merge":
        return _merged(one) == _merged(other)
    return one.action == "create" and same_lesson(_proposed(one), _proposed(other))


def _proposed(proposal: Proposal) -> MemoryContent:
    """Return the content as it was proposed, before the user edited it."""
    return from_proposal(json.loads(proposal.details or "{}").get("text", proposal.text), proposal.details)


def _merged(proposal: Proposal) -> set[str]:
    return {proposal.target, *json.loads(proposal.details or "{}").get("with", ())}


def _new_proposals(memories: Memories) -> list[Proposal]:
    found = [
        Proposal(
            "", "memory", "create", "", lesson.said.text, lesson.reason, details=to_proposal_details(lesson.said),
            session=lesson.outcomes[0].session, author="review",
        )
        for lesson in derive_lessons(memories.listed(kind="outcome"))
    ]  # fmt: skip
    for one, other in find_duplicates(memories.listed()):
        text = max(one.content.text, other.content.text, key=len)
        found.append(
            Proposal(
                "", "memory", "merge", one.id, text, f"{other.id} says nearly the same: {other.content.text}",
                one.version, details=json.dumps({"with": [other.id]}), session=one.session, author="review",
            )
        )  # fmt: skip
    return found


def _is_known(memories: Memories, wanted: Proposal) -> bool:
    """Return whether the memory to be created exists already."""
    if wanted.action == "create":
        return any(one.memory.content.text == wanted.text for one in memories.find(wanted.text, limit=3))
    return False
