"""Imports other agents' new transcripts, and receives and exports OpenTelemetry traces, as the settings say."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

from core.domain.problems import Problem
from core.engine.api.engine import Engine

Report = Callable[[BaseException], None]


async def run_live_exchange(engine: Engine, leaving: "Future[None]", report: Report) -> None:
    """Start and stop these tasks as the settings change, until `leaving` is done. A port in use is only reported."""
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
                settings = engine.settings.current
                if settings.otlp_receive_port != port:
                    port = settings.otlp_receive_port
                    await _tried(engine.exchange.receive_traces(port, report), report)
                if settings.otlp_export_url != address:
                    address = settings.otlp_export_url
                    if sending:
                        sending.cancel()
                    work = _tried(engine.exchange.send_traces(address, report), report) if address else None
                    sending = tasks.create_task(work, name="send traces") if work else None
                if settings.watch_sessions != bool(watching):
                    if watching:
                        watching.cancel()
                    work = engine.exchange.follow_sessions(Path.home(), report) if settings.watch_sessions else None
                    watching = tasks.create_task(work, name="watch others") if work else None
                await changed.wait()
            for task in (sending, watching):
                if task:
                    task.cancel()
    finally:
        forget()
        if port:
            with suppress(Problem):
                await engine.exchange.receive_traces(0)


async def _tried(work: Coroutine[Any, Any, None], report: Report) -> None:
    """Run `work`; pass a Problem to `report` instead of raising it."""
    try:
        await work
    except Problem as problem:
        report(problem)
