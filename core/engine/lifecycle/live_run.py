"""An active run with its asyncio task, and the functions that execute a run to its end."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from core.domain.events import RunEnded, RunInterrupted, RunPaused, SessionEvent
from core.engine.run.run_context import RunContext

RunOutcome = RunEnded | RunPaused | RunInterrupted


@dataclass(slots=True)
class LiveRun:
    """An active run. `stop_reason` is set when the run is being stopped; otherwise it is empty."""

    task: asyncio.Task[None]
    context: RunContext
    stop_reason: str = ""


async def run_to_end(
    run: RunContext, start_events: tuple[SessionEvent, ...], work: Callable[[RunContext], Awaitable[RunOutcome]]
) -> RunOutcome:
    """Record `start_events`, which are not in the event log yet, then execute the run and return its end."""
    run.tool_context.commands.connect(spawn_background, run.command_ended)
    if start_events:
        await run.record(*start_events)
    return await work(run)


async def finish_uncanceled(coroutine: Coroutine[Any, Any, object]) -> None:
    """Await a coroutine to its end even if the current task is canceled. The cancellation is not raised later."""
    task = asyncio.create_task(coroutine, name="end of a run")
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait({task})
    task.result()


def spawn_background(coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    return asyncio.create_task(coroutine, name="work in the background")
