"""A reply of a transcript that is not written yet, and its token usage."""

from dataclasses import dataclass, field
from typing import NamedTuple

from core.domain.events import Usage
from core.exchange.importers.foreign_call import ForeignCall

NO_USAGE = Usage()


@dataclass(slots=True)
class PendingReply:
    """A reply that is not written yet, because the next record may continue it."""

    id: str
    requested_at: int
    at: int
    model: str
    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: list[ForeignCall] = field(default_factory=list)
    usage: Usage = NO_USAGE
    stop_reason: str = ""
    cost: float | None = None

    def is_empty(self) -> bool:
        """Return whether the reply has no content that is worth an event."""
        has_content = self.texts or self.thoughts or self.calls or self.stop_reason or self.cost
        return not has_content and self.usage == NO_USAGE


class WrittenUsage(NamedTuple):
    """The token usage of the last reply that was written. `reply_id` is empty for a reply without an ID."""

    reply_id: str = ""
    usage: Usage = NO_USAGE


def add_usages(first: Usage, second: Usage) -> Usage:
    return Usage(**{name: getattr(first, name) + getattr(second, name) for name in Usage.__slots__})


def subtract_usage(later: Usage, earlier: Usage) -> Usage:
    """Return the tokens that `later` counts and `earlier` did not."""
    return Usage(**{name: max(0, getattr(later, name) - getattr(earlier, name)) for name in Usage.__slots__})
