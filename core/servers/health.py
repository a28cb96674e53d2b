"""How tool servers are, as the window is told of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from core.domain.problems import Trouble

Health = Literal["ready", "starting", "open", "failed"]


@dataclass(frozen=True, slots=True)
class State:
    """Of one server: `ready` is one that is not running, for nobody has wanted it yet."""

    name: str
    health: Health = "ready"
    trouble: Trouble | None = None


@dataclass(frozen=True, slots=True)
class States:
    """Of all that are on."""

    of: tuple[State, ...] = ()


Listener = Callable[[States], None]
