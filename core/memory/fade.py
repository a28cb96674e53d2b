"""What has lost its strength, and what can be told of many outcomes: all of it from facts and a clock."""

from collections.abc import Iterable

from core.domain.memory import WEAK, Memory, strength


def faded(memories: Iterable[Memory], at: int) -> list[tuple[Memory, str]]:
    """Those that are to be archived, and why. What a person wrote or pinned never is."""
    return [
        (memory, f"its strength is {left:.2f}: nobody has used it for long")
        for memory in memories
        if memory.standing == "active" and (left := strength(memory, at)) < WEAK
    ]
