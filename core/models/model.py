"""What a model is: something that streams a reply to a request."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from core.domain.events import Usage
from core.domain.messages import Message
from core.domain.problems import Problem
from core.domain.text import Attachment, Text


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model is told of it."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a person set for the replies; what is None is not sent."""

    effort: str | None = None
    max_output: int | None = None
    temperature: float | None = None


def head_of(text: Text) -> str:
    """What is at hand of a text."""
    return text.head


@dataclass(frozen=True, slots=True)
class Request:
    """`turn` counts the replies and failures this run has had: a script is read there.

    `whole` gives a text in full, `contents` what an attachment holds; both were kept apart when they were long.
    """

    messages: Sequence[Message]
    turn: int = 0
    role: str = ""
    tools: Sequence[ToolSpec] = ()
    wanted: Wanted = Wanted()
    schema: Mapping[str, Any] | None = None
    whole: Callable[[Text], str] = head_of
    contents: Callable[[Attachment], bytes] = lambda attachment: b""
    system: str = ""

    def instructions(self) -> list[str]:
        """Everything in the role of the system, in order."""
        said = [self.whole(message.text) for message in self.messages if message.role == "system"]
        return [text for text in (self.system, *said) if text]


@dataclass(frozen=True, slots=True)
class Asked:
    """A call as the model names it; the engine gives it its own id."""

    tool: str
    arguments: str = "{}"


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a reply: words, thoughts, calls that are whole, what it took, and at its end why it ended.

    `carry` is JSON that the same server wants back unread. `note` is what a person should know of how it was read.
    `cost` is in US dollars; None is unknown.
    """

    text: str = ""
    reasoning: str = ""
    calls: tuple[Asked, ...] = ()
    usage: Usage | None = None
    stop: str = ""
    carry: str = ""
    note: str = ""
    cost: float | None = None

    def followed_by(self, later: "Delta") -> "Delta":
        """What is known of the whole reply after one more piece; its words and calls are the reader's to gather."""
        if later.usage is None and not (later.stop or later.carry or later.note):
            return self
        return Delta(
            usage=later.usage or self.usage,
            stop=later.stop or self.stop,
            carry=later.carry or self.carry,
            note=later.note or self.note,
            cost=self.cost if later.cost is None else later.cost,
        )


class Model(Protocol):
    """Streams replies. `window` is the most tokens that a request may have; 0 is unknown."""

    @property
    def window(self) -> int: ...

    def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        """The reply, piece by piece. Raises Fault when the server fails."""
        ...


class Fault(Problem):
    """A request failed. `again`: the same request may succeed later, in `after_s` seconds at the soonest.

    `kind` is one word for the programs that react to it; `core/models/faults.py` lists them.
    """

    def __init__(
        self, what: str, why: str = "", do: str = "", *, again: bool = True, after_s: float = 0.0, kind: str = ""
    ) -> None:
        super().__init__(what, why, do)
        self.kind = kind
        self.again = again
        self.after_s = after_s
