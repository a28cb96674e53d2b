"""What the messages weigh, in tokens: each is counted once, when it is first about to be sent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from core.domain.messages import Message
from core.models.attach import IMAGES
from core.models.model import ToolSpec
from core.models.tokens import DOCUMENT, IMAGE, MESSAGE, estimate, estimate_text


def weight(message: Message) -> int:
    """About how many tokens a message is."""
    total = MESSAGE + estimate_text(message.text)
    for call in message.calls:
        total += MESSAGE + _of_name(call.tool) + estimate_text(call.arguments)
    return total + sum(IMAGE if one.media_type in IMAGES else DOCUMENT for one in message.attachments)


_of_name = lru_cache(maxsize=256)(estimate)  # the same few tools again and again


def weight_of_tools(tools: Sequence[ToolSpec]) -> int:
    """What the model is told of its tools."""
    return sum(MESSAGE + estimate(f"{tool.name} {tool.description} {tool.schema}") for tool in tools)


@dataclass(slots=True)
class Weights:
    """The scales of one conversation. Tokens as estimated, before what a model's real counts have taught.

    Attributes:
        each: the weights of the first messages, as many as were counted.
        filled: their sums by kind.
        ahead: weights of words that wait for the next request, by their entry.
    """

    each: list[int] = field(default_factory=list)
    filled: dict[str, int] = field(default_factory=dict)
    ahead: dict[int, int] = field(default_factory=dict)

    def count(self, messages: Sequence[Message]) -> Mapping[str, int]:
        """The sums, with the messages that came since."""
        for place in range(len(self.each), len(messages)):
            message = messages[place]
            self._add(message.kind, self.ahead.pop(message.seq, 0) or weight(message))
        return self.filled

    def slip_in(self, place: int, message: Message) -> None:
        """A message came before others that were counted already."""
        if place < len(self.each):
            self.each.insert(place, tokens := weight(message))
            self.filled[message.kind] = self.filled.get(message.kind, 0) + tokens

    def coming(self, waiting: Sequence[Message]) -> Mapping[str, int]:
        """The sums of what waits."""
        sums: dict[str, int] = {}
        for message in waiting:
            known = self.ahead.get(message.seq)
            if known is None:
                known = self.ahead[message.seq] = weight(message)
            sums[message.kind] = sums.get(message.kind, 0) + known
        return sums

    def follow(self, messages: Sequence[Message], origins: Sequence[int]) -> None:
        """The messages were made anew, each from the one that stood at its origin; below 0 it is a new one."""
        old, counted = self.each, len(self.each)
        self.each, self.filled = [], {}
        if not counted:
            return  # nothing was about to be sent yet
        for message, origin in zip(messages, origins, strict=True):
            self._add(message.kind, old[origin] if 0 <= origin < counted else weight(message))

    def _add(self, kind: str, tokens: int) -> None:
        self.each.append(tokens)
        self.filled[kind] = self.filled.get(kind, 0) + tokens
