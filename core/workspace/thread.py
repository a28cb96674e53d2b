"""Work that is done in a thread, and that a stop waits for."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def to_its_end(work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """In a thread. A thread cannot be cut, so a stop waits for it, and comes when its effect can be told."""
    job = asyncio.get_running_loop().run_in_executor(None, lambda: work(*given, **named))
    stopped = False
    while not job.done():
        try:
            await asyncio.wait({job})
        except asyncio.CancelledError:
            stopped = True
    task = asyncio.current_task()
    if stopped and task:
        task.cancel()
    return job.result()
