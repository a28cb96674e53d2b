"""Traces of other programs are received while the settings say so."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future

from core.domain.problems import Problem
from core.engine.engine import Engine


async def receive(engine: Engine, leaving: "Future[None]", report: Callable[[BaseException], None]) -> None:
    """On the engine's loop, until the window leaves. A port that is taken is told, and stops nothing."""
    changed = asyncio.Event()
    forget = engine.settings.listen(lambda _: changed.set())
    left = asyncio.wrap_future(leaving)
    left.add_done_callback(lambda _: changed.set())
    port = 0
    try:
        while not left.done():
            changed.clear()
            if (wanted := engine.settings.now.receive_traces) != port:
                port = wanted
                try:
                    await engine.desk.receive(wanted)
                except Problem as problem:
                    report(problem)
            await changed.wait()
    finally:
        forget()
        if port:
            await engine.desk.receive(0)
