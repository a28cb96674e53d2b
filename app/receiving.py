"""Other agents are watched, traces of theirs received and our own sent, while the settings say so."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

from core.domain.problems import Problem
from core.engine.engine import Engine

Report = Callable[[BaseException], None]


async def exchange_live(engine: Engine, leaving: "Future[None]", report: Report) -> None:
    """On the engine's loop, until the window leaves. A port that is taken is told, and stops nothing."""
    changed = asyncio.Event()
    forget = engine.settings.listen(lambda _: changed.set())
    left = asyncio.wrap_future(leaving)
    left.add_done_callback(lambda _: changed.set())
    port, address = 0, ""
    sending: asyncio.Task[None] | None = None
    watching: asyncio.Task[None] | None = None
    try:
        async with asyncio.TaskGroup() as tasks:
            while not left.done():
                changed.clear()
                settings = engine.settings.now
                if settings.receive_traces != port:
                    port = settings.receive_traces
                    await _tried(engine.desk.receive(port, report), report)
                if settings.send_traces != address:
                    address = settings.send_traces
                    if sending:
                        sending.cancel()
                    work = _tried(engine.desk.send(address, report), report) if address else None
                    sending = tasks.create_task(work, name="send traces") if work else None
                if settings.watch_agents != bool(watching):
                    if watching:
                        watching.cancel()
                    work = engine.desk.watch(Path.home(), report) if settings.watch_agents else None
                    watching = tasks.create_task(work, name="watch others") if work else None
                await changed.wait()
            for task in (sending, watching):
                if task:
                    task.cancel()
    finally:
        forget()
        if port:
            with suppress(Problem):
                await engine.desk.receive(0)


async def _tried(work: Coroutine[Any, Any, None], report: Report) -> None:
    """What goes wrong in the world is told."""
    try:
        await work
    except Problem as problem:
        report(problem)
