"""Follows other agents' transcripts, and receives and sends OpenTelemetry traces, as far as the settings enable it."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

from core.domain.problems import Problem
from core.engine.api.engine import Engine

Report = Callable[[BaseException], None]


async def run_live_exchange(engine: Engine, window_closed: Future[None], report: Report) -> None:
    """Follow transcripts, receive traces and send traces as the settings say, until the window closes.

    Changed settings apply at once. A port that cannot be opened is passed to `report`.
    """
    changed = asyncio.Event()
    unsubscribe = engine.settings.listen(lambda _: changed.set())
    closing = asyncio.wrap_future(window_closed)
    closing.add_done_callback(lambda _: changed.set())
    port, address = 0, ""
    send_task: asyncio.Task[None] | None = None
    watch_task: asyncio.Task[None] | None = None
    try:
        async with asyncio.TaskGroup() as tasks:
            while not closing.done():
                changed.clear()
                settings = engine.settings.current
                if settings.otlp_receive_port != port:
                    port = settings.otlp_receive_port
                    await _tried(engine.exchange.receive_traces(port, report), report)
                if settings.otlp_export_url != address:
                    address = settings.otlp_export_url
                    if send_task:
                        send_task.cancel()
                    work = _tried(engine.exchange.send_traces(address, report), report) if address else None
                    send_task = tasks.create_task(work, name="send traces") if work else None
                if settings.watch_sessions != bool(watch_task):
                    if watch_task:
                        watch_task.cancel()
                    work = engine.exchange.follow_sessions(Path.home(), report) if settings.watch_sessions else None
                    watch_task = tasks.create_task(work, name="watch others") if work else None
                await changed.wait()
            for task in (send_task, watch_task):
                if task:
                    task.cancel()
    finally:
        unsubscribe()
        if port:
            with suppress(Problem):
                await engine.exchange.receive_traces(0)


async def _tried(work: Coroutine[Any, Any, None], report: Report) -> None:
    """Run `work`; pass a Problem to `report` instead of raising it."""
    try:
        await work
    except Problem as problem:
        report(problem)
