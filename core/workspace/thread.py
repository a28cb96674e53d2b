"""Work that is done in a thread, and work that a stop waits for."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def in_thread(thread: Executor | None, work: Callable[[], T]) -> "asyncio.Future[T]":
    """In that one, or in any."""
    return asyncio.get_running_loop().run_in_executor(thread, work)


async def to_its_end(work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """In a thread. A thread cannot be cut, so a stop waits for it, and comes when its effect can be told."""
    job = in_thread(None, lambda: work(*given, **named))
    task = asyncio.current_task()
    if await _is_stopped_before(job) and task:
        task.cancel()
    return job.result()


async def uncut(act: Awaitable[T]) -> T:
    """What comes of it. A stop waits for its end, however often it is said, and comes then."""
    job = asyncio.shield(act)
    stopped = await _is_stopped_before(job)
    result = job.result()
    if stopped:
        raise asyncio.CancelledError
    return result


async def _is_stopped_before(job: "asyncio.Future[T]") -> bool:
    """Wait until it is done; was a stop said meanwhile?"""
    stopped = False
    while not job.done():
        try:
            await asyncio.wait({job})
        except asyncio.CancelledError:
            stopped = True
    return stopped
