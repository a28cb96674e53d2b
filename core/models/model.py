"""What a model is: something that streams a reply to a request."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from core.domain.events import Usage
from core.domain.messages import Message
from core.domain.problems import Problem


@dataclass(frozen=True, slots=True)
class Request:
    """`turn` counts the replies and failures this run has had: a script is read there."""

    messages: Sequence[Message]
    turn: int = 0
    role: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """A call as the model names it; the engine gives it its own id."""

    tool: str
    arguments: str = "{}"


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a reply: words, thoughts, calls that are whole, and what it cost."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[Asked, ...] = ()
    usage: Usage | None = None


class Model(Protocol):
    def stream(self, request: Request) -> AsyncIterator[Delta]:
        """The reply, piece by piece. Raises Fault when the server fails."""
        ...


class Fault(Problem):
    """A request failed. `again`: the same request may succeed later, in `after_s` seconds at the soonest."""

    def __init__(self, what: str, why: str = "", do: str = "", *, again: bool = True, after_s: float = 0.0) -> None:
        super().__init__(what, why, do)
        self.again = again
        self.after_s = after_s
