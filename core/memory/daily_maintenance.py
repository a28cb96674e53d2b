"""Daily maintenance: archive decayed memories, and propose lessons and merges."""

import json

from core.domain.proposal import Proposal
from core.memory.lessons import derive_lessons, find_duplicates
from core.memory.memories import Memories
from core.memory.serialization import to_proposal_details
from core.store.proposal_store import ProposalStore


async def run_daily_maintenance(memories: Memories, proposals: ProposalStore) -> tuple[list[str], list[Proposal]]:
    """Archive and propose. Return the IDs of the archived memories and the new proposals.

    Changes that were proposed before are not proposed again, whatever the user decided.
    """
    archived = await memories.archive_decayed()
    known = proposals.find(target_kind="memory")
    asked = {(one.action, one.target, one.text) for one in known}
    new = [one for one in _new_proposals(memories) if (one.action, one.target, one.text) not in asked]
    made = [await proposals.create(one) for one in new if not _is_known(memories, one)]
    return archived, made


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
