"""Estimated token counts of the messages. Each message is counted once, before it is first sent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from core.domain.events import ContextCompacted, Replied
from core.domain.messages import Message
from core.models.model import ToolSpec
from core.models.token_estimate import (
    MESSAGE_TOKENS,
    attachment_tokens,
    estimate_text_tokens,
    estimate_tokens,
)


class LastRequest(NamedTuple):
    """The model that the last request was sent to, and the estimated size of the request."""

    model: str = ""
    tokens: float = 0.0


def message_tokens(message: Message) -> int:
    """Estimate the tokens of a message."""
    total = MESSAGE_TOKENS + estimate_text_tokens(message.text)
    for call in message.calls:
        total += MESSAGE_TOKENS + _name_tokens(call.tool) + estimate_text_tokens(call.arguments)
    return total + sum(map(attachment_tokens, message.attachments))


def used_tokens(event: Replied | ContextCompacted, request_tokens: float) -> float:
    """Return the tokens used by a request and its reply, as reported by the provider or, for a reply, estimated.

    `request_tokens` is the estimate for the request.
    """
    reported = event.usage.input + event.usage.output
    if reported or isinstance(event, ContextCompacted):
        return reported
    texts = (event.text, event.reasoning, *(call.arguments for call in event.calls))
    return request_tokens + sum(map(estimate_text_tokens, texts))


_name_tokens = lru_cache(maxsize=256)(estimate_tokens)  # Cached, because the same few tool names recur.


def tool_tokens(tools: Sequence[ToolSpec]) -> int:
    """Estimate the tokens of the tool definitions."""
    return sum(MESSAGE_TOKENS + estimate_tokens(f"{tool.name} {tool.description} {tool.parameters}") for tool in tools)


@dataclass(slots=True)
class TokenCounts:
    """The estimated token counts of one conversation, not corrected by `Conversation.token_ratios`.

    Attributes:
        counts: the token counts of the messages that were counted so far, by index.
        totals: the sums of `counts` by category of message.
        queued: token counts of the queued messages, by sequence number.
    """

    counts: list[int] = field(default_factory=list)
    totals: dict[str, int] = field(default_factory=dict)
    queued: dict[int, int] = field(default_factory=dict)

    def count_messages(self, messages: Sequence[Message]) -> Mapping[str, int]:
        """Count the messages that were added since the last call, and return the sums by category."""
        for index in range(len(self.counts), len(messages)):
            message = messages[index]
            self._add(message.category, self.queued.pop(message.seq, 0) or message_tokens(message))
        return self.totals

    def insert(self, index: int, message: Message) -> None:
        """Count a message that was inserted in front of messages that were counted already."""
        if index < len(self.counts):
            self.counts.insert(index, tokens := message_tokens(message))
            self.totals[message.category] = self.totals.get(message.category, 0) + tokens

    def count_queued(self, messages: Sequence[Message]) -> Mapping[str, int]:
        """Return the sums of the queued messages by category."""
        sums: dict[str, int] = {}
        for message in messages:
            tokens = self.queued.get(message.seq)
            if tokens is None:
                tokens = self.queued[message.seq] = message_tokens(message)
            sums[message.category] = sums.get(message.category, 0) + tokens
        return sums

    def update_after_compaction(self, messages: Sequence[Message], origins: Sequence[int]) -> None:
        """Update the counts after a compaction. `origins` contains the old index of each message, or -1 if new."""
        old_counts = self.counts
        self.counts = []
        self.totals = {}
        if not old_counts:
            return  # The messages are counted when the counts are first needed.
        for message, origin in zip(messages, origins, strict=True):
            is_counted = 0 <= origin < len(old_counts)
            self._add(message.category, old_counts[origin] if is_counted else message_tokens(message))

    def _add(self, category: str, tokens: int) -> None:
        self.counts.append(tokens)
        self.totals[category] = self.totals.get(category, 0) + tokens
