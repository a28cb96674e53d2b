"""Runs functions in threads, and waits for their end even if the caller is canceled."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def run_in_thread(thread: Executor | None, work: Callable[[], T]) -> asyncio.Future[T]:
    """Run a function in the given executor, or in the default one."""
    return asyncio.get_running_loop().run_in_executor(thread, work)


async def run_to_completion(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function in a thread and return its result. A cancellation takes effect only after the function has ended.

    The task is then canceled at its next await, so that the caller can still record the effect of the function.
    """
    job = run_in_thread(None, lambda: work(*args, **kwargs))
    task = asyncio.current_task()
    if await _is_stopped_before(job) and task:
        task.cancel()
    return job.result()


async def await_to_completion(act: Awaitable[T]) -> T:
    """Await `act` to its end and return its result; if the caller is canceled meanwhile, then raise CancelledError."""
    job = asyncio.shield(act)
    stopped = await _is_stopped_before(job)
    result = job.result()
    if stopped:
        raise asyncio.CancelledError
    return result


async def _is_stopped_before(job: asyncio.Future[T]) -> bool:
    """Wait until the future is done; return whether the current task was canceled while waiting."""
    stopped = False
    while not job.done():
        try:
            await asyncio.wait({job})
        except asyncio.CancelledError:
            stopped = True
    return stopped
