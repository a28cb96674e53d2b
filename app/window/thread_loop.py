"""Runs an asyncio event loop in a thread, and ends it in bounded time even if a task does not end when canceled."""

import asyncio
from collections.abc import Callable, Coroutine, Set
from io import StringIO
from typing import Any

CANCEL_S = 10.0  # how long canceled tasks may take to end
REQUESTS_S = 1.0  # how long requests may take to end before they are canceled

Tasks = Set[asyncio.Task[Any]]


def run_event_loop(
    loop: asyncio.AbstractEventLoop,
    main: Coroutine[Any, Any, None],
    requests: Tasks,
    report: Callable[[BaseException], None],
) -> None:
    """Run `main` to its end, cancel all other tasks, and close the loop.

    `requests` are tasks that other threads started. They are canceled first, because they may wait for further tasks. A
    task that is still running after CANCEL_S is reported and abandoned; `asyncio.Runner` would wait for it forever.
    """
    try:
        try:
            loop.run_until_complete(main)
        finally:
            if running := loop.run_until_complete(_end_tasks(requests)):
                report(RuntimeError(_describe(running)))
            else:
                loop.run_until_complete(loop.shutdown_asyncgens())
                loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        loop.close()


async def end_requests(requests: Tasks) -> None:
    """Wait REQUESTS_S for the requests in progress, then cancel those that are still running."""
    if requests:
        await asyncio.wait(requests, timeout=REQUESTS_S)
    await _cancel(requests)


async def _end_tasks(requests: Tasks) -> Tasks:
    """Cancel the requests, then all other tasks, and wait for each group to end. Return the tasks that still run.

    The order matters: a request that is canceled while it starts a process waits until asyncio has connected the pipes
    of that process. If the asyncio task that connects the pipes were canceled too, the request would never end.
    """
    await _cancel(requests)
    return await _cancel(asyncio.all_tasks())


async def _cancel(tasks: Tasks) -> Tasks:
    """Cancel the tasks except the current one, and wait at most CANCEL_S.

    Return the tasks that have not ended by then.
    """
    others = tasks - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if not others:
        return others
    _, running = await asyncio.wait(others, timeout=CANCEL_S)
    return running


def _describe(tasks: Tasks) -> str:
    """Return an error message with the stacks of the tasks."""
    text = StringIO(f"{len(tasks)} canceled tasks did not end in {CANCEL_S:g} s:\n")
    text.seek(0, 2)
    for task in tasks:
        task.print_stack(file=text)
    return text.getvalue()
