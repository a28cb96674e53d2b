"""The events that record which memories were given to the model."""

from dataclasses import dataclass

from core.domain.problems import ErrorDetails
from core.domain.text import Text


@dataclass(frozen=True, slots=True)
class RecalledMemory:
    """A memory that was added to the context.

    `score` is its overall relevance to the message, and `keyword_score` the share due to matching words. `in_full` is
    False if only its short form was added.
    """

    memory_id: str
    version: int
    kind: str
    score: float
    reason: str
    text: str
    keyword_score: float = 0.0
    in_full: bool = True


@dataclass(frozen=True, slots=True)
class MemoriesRecalled:
    """Memories were added to the context, before the request that answers the user message `message_seq`.

    `text` is exactly what the model reads. `omitted` counts equally relevant memories that exceeded the token budget.
    """

    message_seq: int
    memories: tuple[RecalledMemory, ...]
    text: Text
    omitted: int = 0


@dataclass(frozen=True, slots=True)
class MemoryOperationFailed:
    """A memory operation failed with `error`; the run continued without it."""

    operation: str
    error: ErrorDetails
