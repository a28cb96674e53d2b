"""The interface through which the window calls the engine, which runs in another thread."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from core.engine.api.engine import Engine

T = TypeVar("T")


class Bridge(Protocol):
    async def ask(self, work: "Callable[[Engine], Awaitable[T]]") -> T:
        """Run `work` on the event loop of the engine and return its result. Its exceptions are raised in the caller."""
        ...
