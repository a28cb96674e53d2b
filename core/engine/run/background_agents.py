"""The sub-agents that work in the background of a run: the tasks that follow them, and waiting for one to end."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from core.engine.state.conversation import Conversation
from core.store.journal import Journal
from core.store.journal_update import JournalUpdate
from core.tools.background import SpawnTask

POLL_S = 0.5  # seconds; a pause request is not an event in the log, so it has to be polled
AGENT_REASON = "a sub-agent in the background has ended"  # recorded with the message about the end


@dataclass(slots=True)
class BackgroundAgents:
    """The asyncio tasks that follow the background sub-agents of a run, by the ID of the `delegate` call.

    `keeps` is true while the tasks are canceled without stopping their sub-agents, because the run is paused or
    Journeyman exits.
    """

    spawn: SpawnTask | None = None
    keeps: bool = False
    _followers: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    def follow(self, call: str, work: Coroutine[Any, Any, None]) -> None:
        assert self.spawn is not None
        self._followers[call] = self.spawn(work)

    @property
    def active(self) -> tuple[str, ...]:
        """The IDs of the `delegate` calls whose sub-agents have not ended."""
        return tuple(call for call, task in self._followers.items() if not task.done())

    async def wait(self, call: str, seconds: float) -> None:
        """Wait up to `seconds` until the sub-agent of the call has ended and its end is recorded."""
        if task := self._followers.get(call):
            await asyncio.wait({task}, timeout=seconds)

    async def stop(self, call: str) -> None:
        """Stop the sub-agent of the call and record its end, by canceling the task that follows it."""
        task = self._followers.get(call)
        await _cancel([task] if task else [])

    async def close(self, *, keep: bool) -> None:
        """Cancel all tasks. With `keep` the sub-agents stay as they are, otherwise they are stopped."""
        self.keeps = keep
        await _cancel([task for task in self._followers.values() if not task.done()])
        for task in self._followers.values():
            if not task.cancelled() and (error := task.exception()):
                raise error
        self._followers.clear()
        self.keeps = False


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    await asyncio.sleep(0)  # a task that is canceled before its first step would record nothing
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)


async def wait_for_agents(
    agents: BackgroundAgents, journal: Journal, session: str, conversation: Conversation, is_pausing: Callable[[], bool]
) -> None:
    """Wait while sub-agents work, until one of them has ended, the user has sent a message, or a pause is requested."""
    changed = asyncio.Event()

    def on_update(update: JournalUpdate) -> None:
        if update.entry.session == session:
            changed.set()

    forget = journal.listen(on_update)
    try:
        while agents.active and not conversation.has_new_input and not is_pausing():
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_S):
                    await changed.wait()
            changed.clear()
    finally:
        forget()
