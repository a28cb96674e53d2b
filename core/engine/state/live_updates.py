"""Live updates while a run streams a reply or a command prints output. They are published but never stored."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LiveUpdate:
    """The next piece of a reply, or of the output of a command.

    Attributes:
        text: text that was added to the reply.
        reasoning: text that was added to the reasoning.
        activity: what the provider does before the reply begins.
        ended: whether the reply is complete or was interrupted. Its events follow.
        call: ID of a call. If set, the update is not part of a reply but contains new `output` of the call's command.
    """

    session: str
    text: str = ""
    reasoning: str = ""
    activity: str = ""
    ended: bool = False
    call: str = ""
    output: bytes = b""


class LiveUpdates:
    """Passes live updates on to listeners."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[LiveUpdate], None]] = []

    def subscribe(self, listener: Callable[[LiveUpdate], None]) -> Callable[[], None]:
        """Call `listener` with every update from now on. Return a function that unsubscribes it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def publish(self, update: LiveUpdate) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(update)
            except Exception as error:  # A bug in a listener must not end the run.
                context = {"message": "A listener of the live updates failed.", "exception": error}
                asyncio.get_running_loop().call_exception_handler(context)
