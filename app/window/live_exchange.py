"""Follows other agents' transcripts, and receives and sends OpenTelemetry traces, as far as the settings enable it."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

from core.domain.problems import Problem
from core.engine.api.engine import Engine
from core.settings.schema import Settings

Report = Callable[[BaseException], None]


async def run_live_exchange(engine: Engine, window_closed: Future[None], report: Report) -> None:
    """Follow transcripts, receive traces and send traces as the settings say, until the window closes.

    Changed settings apply at once. A port that cannot be opened is passed to `report`.
    """
    changed = asyncio.Event()
    unsubscribe = engine.settings.listen(lambda _: changed.set())
    closing = asyncio.wrap_future(window_closed)
    closing.add_done_callback(lambda _: changed.set())
    try:
        async with asyncio.TaskGroup() as tasks:
            exchange = _LiveExchange(engine, tasks, report)
            while not closing.done():
                changed.clear()
                await exchange.apply(engine.settings.current)
                await changed.wait()
            exchange.cancel_tasks()
    finally:
        unsubscribe()
        with suppress(Problem):
            await engine.exchange.receive_traces(0)  # closes the port


class _LiveExchange:
    """What is received, sent and followed now."""

    def __init__(self, engine: Engine, tasks: asyncio.TaskGroup, report: Report) -> None:
        self._exchange = engine.exchange
        self._tasks = tasks
        self._report = report
        self._receive_port = 0
        self._export_url = ""
        self._send_task: asyncio.Task[None] | None = None
        self._follow_task: asyncio.Task[None] | None = None

    async def apply(self, settings: Settings) -> None:
        """Start and stop what has changed in the settings."""
        if settings.otlp_receive_port != self._receive_port:
            self._receive_port = settings.otlp_receive_port
            await self._report_problem(self._exchange.receive_traces(self._receive_port, self._report))
        if settings.otlp_export_url != self._export_url:
            self._export_url = settings.otlp_export_url
            self._restart_sending()
        if settings.watch_sessions and self._follow_task is None:
            following = self._exchange.follow_sessions(Path.home(), self._report)
            self._follow_task = self._tasks.create_task(following, name="follow sessions")
        elif not settings.watch_sessions and self._follow_task:
            self._follow_task.cancel()
            self._follow_task = None

    def _restart_sending(self) -> None:
        """Send traces to the present address, if there is one, and no longer to the previous one."""
        if self._send_task:
            self._send_task.cancel()
            self._send_task = None
        if self._export_url:
            sending = self._report_problem(self._exchange.send_traces(self._export_url, self._report))
            self._send_task = self._tasks.create_task(sending, name="send traces")

    def cancel_tasks(self) -> None:
        for task in (self._send_task, self._follow_task):
            if task:
                task.cancel()

    async def _report_problem(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work`; report a Problem instead of raising it."""
        try:
            await work
        except Problem as problem:
            self._report(problem)
