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

POLL_S = 0.5  # between two looks at whether the user has asked for a pause, which no event tells
AGENT_REASON = "a sub-agent in the background has ended"  # the reason of a HarnessMessage


@dataclass(slots=True)
class BackgroundAgents:
    """The followers of sub-agents, by the ID of the call that started each.

    `keeps` says that the sub-agents outlast their followers, because the run is paused or Journeyman exits.
    """

    spawn: SpawnTask | None = None
    keeps: bool = False
    _followers: "dict[str, asyncio.Task[None]]" = field(default_factory=dict)

    def follow(self, call: str, work: Coroutine[Any, Any, None]) -> None:
        assert self.spawn is not None
        self._followers[call] = self.spawn(work)

    @property
    def active(self) -> tuple[str, ...]:
        """The calls whose sub-agents have not ended."""
        return tuple(call for call, task in self._followers.items() if not task.done())

    async def wait(self, call: str, seconds: float) -> None:
        """Wait until a sub-agent has ended and its end is recorded, or until the time is over."""
        if task := self._followers.get(call):
            await asyncio.wait({task}, timeout=seconds)

    async def stop(self, call: str) -> None:
        """End the follower of one sub-agent, which stops the sub-agent and records that."""
        await _cancel([task] if (task := self._followers.get(call)) else [])

    async def close(self, *, keep: bool) -> None:
        """End the followers. They stop their sub-agents and record that, unless these are kept."""
        self.keeps = keep
        await _cancel([task for task in self._followers.values() if not task.done()])
        for task in self._followers.values():
            if not task.cancelled() and (error := task.exception()):
                raise error
        self._followers.clear()
        self.keeps = False


async def _cancel(tasks: "list[asyncio.Task[None]]") -> None:
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
