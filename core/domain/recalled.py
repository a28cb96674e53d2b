"""What memory gave to a run, as facts: which memories and why, and where it could give nothing."""

from dataclasses import dataclass

from core.domain.problems import Trouble
from core.domain.text import Text


@dataclass(frozen=True, slots=True)
class Recalled:
    """A memory that was told to the model: which version, how well it fits, and why it was chosen.

    `words` is how well its words fit; `whole` is false where it was told in short.
    """

    memory: str
    version: int
    kind: str
    score: float
    why: str
    text: str
    words: float = 0.0
    whole: bool = True


@dataclass(frozen=True, slots=True)
class MemoryRecalled:
    """Before the request that carries the words of entry `to`. `told` is what the model reads, word for word.

    `left` counts memories that fitted as well and for which there was no room.
    """

    to: int
    items: tuple[Recalled, ...]
    told: Text
    left: int = 0


@dataclass(frozen=True, slots=True)
class MemoryFailed:
    """Memory could not do its part; the run goes on without it. `doing` is what it was about."""

    doing: str
    trouble: Trouble
