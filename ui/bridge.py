"""How the window asks the engine, which lives in another thread."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from core.engine.engine import Engine

T = TypeVar("T")


class Bridge(Protocol):
    async def ask(self, work: "Callable[[Engine], Awaitable[T]]") -> T:
        """Do `work` on the engine's loop; raises what it raises."""
        ...
