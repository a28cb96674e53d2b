"""The daily maintenance of memories: archives decayed ones, and proposes lessons and merges."""

import json
from collections.abc import Callable
from typing import NamedTuple

from core.domain.memory import MemoryContent
from core.domain.proposal import Proposal
from core.memory.lessons import Lesson, derive_lessons, find_duplicates, same_lesson
from core.memory.memories import Memories
from core.memory.proposal_actions import rating_change
from core.memory.run_memory import learning_context
from core.memory.saving import LearningLimits
from core.memory.serialization import from_proposal, to_proposal_details
from core.store.proposal_store import ProposalStore

OUTDATED = "outdated"  # who rejected a proposal that was withdrawn because ratings have changed
LimitsOf = Callable[[str], LearningLimits]  # returns the learning limits of an agent, given its name


def _no_limits(_agent: str) -> LearningLimits:
    return LearningLimits()


class MaintenanceResult(NamedTuple):
    """What a daily maintenance did: the IDs of the memories that it archived, and the proposals that it created."""

    archived: list[str]
    proposed: list[Proposal]


async def run_daily_maintenance(
    memories: Memories, proposals: ProposalStore, limits: LimitsOf = _no_limits
) -> MaintenanceResult:
    """Archive decayed memories and propose changes.

    A change that was proposed before is not proposed again, whatever the user decided. A pending lesson is withdrawn
    if its runs are rated otherwise now; it is proposed again once enough runs support it.
    """
    archived = await memories.archive_decayed()
    for proposal in proposals.find(state="pending", target_kind="memory"):
        if rating_change(memories, proposal):
            await proposals.resolve(proposal.id, "rejected", by=OUTDATED)
    proposed = [await proposals.create(candidate) for candidate in pending_proposals(memories, proposals, limits)]
    return MaintenanceResult(archived, proposed)


def pending_proposals(memories: Memories, proposals: ProposalStore, limits: LimitsOf = _no_limits) -> list[Proposal]:
    """Return what the maintenance would propose now, without creating proposals."""
    earlier = [
        proposal
        for proposal in proposals.find(target_kind="memory")
        if proposal.resolved_by != OUTDATED and not (proposal.state == "pending" and rating_change(memories, proposal))
    ]
    return [
        candidate
        for candidate in _new_proposals(memories, limits)
        if not any(_proposes_same(candidate, other) for other in earlier) and not _is_known(memories, candidate)
    ]


def _proposes_same(proposal: Proposal, other: Proposal) -> bool:
    """Return whether two proposals create the same lesson or merge the same memories.

    Their texts cannot be compared, because each new outcome changes the wording of a lesson.
    """
    if (proposal.action, proposal.author) != (other.action, other.author):
        return (proposal.action, proposal.target, proposal.text) == (other.action, other.target, other.text)
    if proposal.action == "merge":
        return _merged(proposal) == _merged(other)
    return proposal.action == "create" and same_lesson(_proposed(proposal), _proposed(other))


def _proposed(proposal: Proposal) -> MemoryContent:
    """Return the content of a proposed memory as it was before the user edited it."""
    return from_proposal(json.loads(proposal.details or "{}").get("text", proposal.text), proposal.details)


def _merged(proposal: Proposal) -> set[str]:
    return {proposal.target, *json.loads(proposal.details or "{}").get("with", ())}


def _new_proposals(memories: Memories, limits: LimitsOf) -> list[Proposal]:
    proposals = [
        Proposal(
            id="",
            target_kind="memory",
            action="create",
            target="",
            text=lesson.content.text,
            reason=lesson.reason,
            details=to_proposal_details(lesson.content, [outcome.id for outcome in lesson.outcomes]),
            session=lesson.outcomes[0].session,
            author="review",
        )
        for lesson in derive_lessons(memories.listed(kind="outcome"))
        if _may_be_learned(memories, lesson, limits)
    ]
    for memory, other in find_duplicates(memories.listed()):
        text = max(memory.content.text, other.content.text, key=len)
        proposals.append(
            Proposal(
                id="",
                target_kind="memory",
                action="merge",
                target=memory.id,
                text=text,
                reason=f"{other.id} says nearly the same: {other.content.text}",
                base_version=memory.version,
                details=json.dumps({"with": [other.id]}),
                session=memory.session,
                author="review",
            )
        )
    return proposals


def _may_be_learned(memories: Memories, lesson: Lesson, limits: LimitsOf) -> bool:
    """Return whether all agents whose runs support a lesson may learn it."""
    context_of = learning_context(memories, limits)
    sessions = {outcome.session for outcome in lesson.outcomes}
    return not any(context_of(session).limits.refusal_reason(lesson.content) for session in sessions)


def _is_known(memories: Memories, proposal: Proposal) -> bool:
    """Return whether a memory that a proposal would create already exists."""
    if proposal.action == "create":
        return any(match.memory.content.text == proposal.text for match in memories.find(proposal.text, limit=3))
    return False
