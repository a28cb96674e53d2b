"""The replies being streamed, and what commands print: told to whoever listens, never stored."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Draft:
    """A piece more of a session's reply. With `ended` the reply is whole, or lost, and its facts follow.

    With `call` it is no reply, but what the command of that call has printed since.
    """

    session: str
    text: str = ""
    reasoning: str = ""
    ended: bool = False
    call: str = ""
    output: bytes = b""


class Drafts:
    def __init__(self) -> None:
        self._listeners: list[Callable[[Draft], None]] = []

    def listen(self, listener: Callable[[Draft], None]) -> Callable[[], None]:
        """From now on; what is returned ends it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def tell(self, draft: Draft) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(draft)
            except Exception as error:  # a listener's bug must not end the run it listens to
                context = {"message": "A listener of the drafts failed.", "exception": error}
                asyncio.get_running_loop().call_exception_handler(context)
