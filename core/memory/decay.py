"""Finds memories to archive: decayed ones, expired ones, and outcomes beyond their limit."""

from collections.abc import Iterable
from typing import NamedTuple

from core.domain.memory import LOW_RELEVANCE, Memory, relevance
from core.domain.memory_marks import EXPIRES, is_expired

MAX_OUTCOMES = 1_000  # limit of active outcome memories


class DecayedMemory(NamedTuple):
    """A memory to archive, and why."""

    memory: Memory
    reason: str


def find_decayed(memories: Iterable[Memory], at: int) -> list[DecayedMemory]:
    """Return the memories to archive at a time in microseconds.

    Memories that the user wrote or pinned do not decay, but expire if they have an expiry date.
    """
    active = [memory for memory in memories if memory.status == "active"]
    expired = [memory for memory in active if is_expired(memory.content, at)]
    found = {memory.id: DecayedMemory(memory, f"it expired on {memory.content.fields[EXPIRES]}") for memory in expired}
    scores = {memory.id: relevance(memory, at) for memory in active}
    for memory in active:
        score = scores[memory.id]
        if score < LOW_RELEVANCE and memory.id not in found:
            reason = f"its relevance dropped to {score:.2f} because it was not used"
            found[memory.id] = DecayedMemory(memory, reason)
    outcomes = [
        memory
        for memory in active
        if memory.content.kind == "outcome" and not memory.never_decays and memory.id not in found
    ]
    outcomes.sort(key=lambda memory: (-scores[memory.id], -memory.created_at))
    reason = f"there are more than {MAX_OUTCOMES:,} outcomes, and it is one of the least relevant"
    for memory in outcomes[MAX_OUTCOMES:]:
        found[memory.id] = DecayedMemory(memory, reason)
    return list(found.values())
