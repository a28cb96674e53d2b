"""The test harness of the engine: a real engine on a real database, scripted models, and waiting for events."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from app.process.services import Services, build_services
from core.domain.events import EventRecord, RunStarted, SessionEvent
from core.domain.modes import Mode
from core.domain.problems import Problem
from core.domain.text import Text
from core.engine.api.engine import Engine
from core.engine.policy.trust import trust_decision

BOUND_S = 60.0  # a longer wait is a hang; on a busy computer a third-party server is slow


def scripted_replies(*replies: dict[str, Any], **more: Any) -> str:
    return json.dumps({"replies": list(replies), **more})


def call_reply(tool: str, **arguments: Any) -> dict[str, Any]:
    """Return a scripted reply with one call."""
    return {"calls": [{"name": tool, "arguments": arguments}]}


class EngineHarness:
    """An open engine, and the internal errors that were reported."""

    def __init__(self, services: Services, folder: Path, bugs: list[BaseException]) -> None:
        self.services = services
        self.engine: Engine = services.engine
        self.folder = folder
        self.bugs = bugs
        self.log: list[EventRecord] = []
        services.engine.subscribe(lambda told: self.log.append(told.entry))

    async def start(
        self, script: str, task: str = "Go.", max_turns: int = 60, mode: Mode | None = None, allow: tuple[str, ...] = ()
    ) -> str:
        """Start a session. Unless a mode is given, calls are approved and the folder is trusted."""
        if mode is None and trust_decision(self.engine.rules(), str(self.folder)) is None:
            await self.engine.trust(self.folder)
        began = RunStarted("scripted", max_turns, Text(script), mode=mode or "auto", allow=allow)
        return await self.engine.start(task, self.folder, began)

    async def run(self, script: str, max_turns: int = 60) -> str:
        """Start a session and wait until its run has ended."""
        session = await self.start(script, max_turns=max_turns)
        await self.engine.wait_idle(session)
        return session

    async def until(self, kind: type[SessionEvent], count: int = 1) -> EventRecord:
        """Wait for the `count`-th event of a class."""
        found: list[EventRecord] = await self.when(
            lambda: [e for e in self.log if isinstance(e.event, kind)][count - 1 :]
        )
        return found[0]

    async def when(self, condition: Callable[[], Any]) -> Any:
        """Wait until the condition is true, checking it after each event. Return its value."""
        changed = asyncio.Event()
        forget = self.engine.subscribe(lambda _: changed.set())
        try:
            async with asyncio.timeout(BOUND_S):
                while not (found := condition()):
                    await changed.wait()
                    changed.clear()
            return found
        finally:
            forget()

    async def events(self, session: str) -> list[SessionEvent]:
        """Return all events of a session."""
        return [entry.event async for entry in self.engine.events(session)]

    async def kinds(self, session: str) -> list[str]:
        return [type(event).__name__ for event in await self.events(session)]

    def status(self, session: str) -> str:
        return self.engine.session(session).status


@asynccontextmanager
async def open_engine(home: Path, folder: Path | None = None) -> AsyncIterator[EngineHarness]:
    """Open an engine on a data folder, and close it as the program does."""
    work = folder or home / "work"
    work.mkdir(parents=True, exist_ok=True)
    bugs: list[BaseException] = []
    services = await build_services(home, bugs.append)
    try:
        yield EngineHarness(services, work, bugs)
    finally:
        await services.close()


async def crash(scene: EngineHarness) -> None:
    """Simulate a killed process: nothing more is written, and the runs do not record their end."""
    database, runs = scene.services.opened.database, scene.services.runs
    assert database is not None
    database.submit = lambda job: job.done(None, Problem("The process is gone."))  # type: ignore[method-assign]
    for live in tuple(runs._live.values()):
        while not live.task.done():
            live.task.cancel()
            await asyncio.sleep(0)
        live.task.cancelled() or live.task.exception()
    scene.services.reader.close()
    database.close()


def run_bounded(test: Awaitable[None]) -> None:
    """Run a test's coroutine and fail if it hangs."""

    async def main() -> None:
        async with asyncio.timeout(BOUND_S * 2):
            await test

    asyncio.run(main())
