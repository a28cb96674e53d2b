"""Finds memories whose relevance has decayed."""

from collections.abc import Iterable

from core.domain.memory import LOW_RELEVANCE, Memory, relevance


def find_decayed(memories: Iterable[Memory], at: int) -> list[tuple[Memory, str]]:
    """Return the memories to archive at the time `at`, in microseconds, each with the reason.

    Memories that the user wrote or pinned never decay.
    """
    scored = ((memory, relevance(memory, at)) for memory in memories if memory.status == "active")
    return [
        (memory, f"its relevance dropped to {score:.2f} because it was not used")
        for memory, score in scored
        if score < LOW_RELEVANCE
    ]
