"""A run that is going: its task and what it works with; and what of its end nothing may cut."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from core.domain.events import RunEnded, RunEvent, RunInterrupted, RunPaused
from core.engine.work import Work

LastWord = RunEnded | RunPaused | RunInterrupted


@dataclass(slots=True)
class Live:
    """`stopping` is why it is being stopped."""

    task: asyncio.Task[None]
    work: Work
    stopping: str = ""


async def to_its_end(run: Work, begun: tuple[RunEvent, ...], work: Callable[[Work], Awaitable[LastWord]]) -> LastWord:
    """Work it; `begun` are the facts of a start that stand in no journal yet."""
    run.place.commands.connect(_spawned, run.command_ended)
    if begun:
        await run.record(*begun)
    return await work(run)


async def surely(act: Coroutine[Any, Any, object]) -> None:
    """To its end, before the run is gone: a stop that comes now waits for it."""
    task = asyncio.create_task(act, name="end of a run")
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait({task})
    task.result()


def _spawned(act: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    return asyncio.create_task(act, name="command in the background")
