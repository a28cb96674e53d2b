"""What the tests of the engine share: a real house on a real file, scripts, and waiting for facts."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from app.assemble import Services, assemble
from core.domain.events import Entry, RunEvent, RunStarted
from core.domain.modes import Mode
from core.domain.problems import Problem
from core.domain.text import Text
from core.engine.engine import Engine

BOUND_S = 60.0  # a hang; on a busy computer a server of others takes its time


def played(*replies: dict[str, Any], **more: Any) -> str:
    """A script."""
    return json.dumps({"replies": list(replies), **more})


def calling(tool: str, **arguments: Any) -> dict[str, Any]:
    """A reply that asks for one call."""
    return {"calls": [{"name": tool, "arguments": arguments}]}


class Scene:
    """A house that is open, and the bugs that were reported in it."""

    def __init__(self, services: Services, folder: Path, bugs: list[BaseException]) -> None:
        self.services = services
        self.engine: Engine = services.engine
        self.folder = folder
        self.bugs = bugs
        self.facts: list[Entry] = []
        services.engine.listen(lambda told: self.facts.append(told.entry))

    async def start(
        self, script: str, task: str = "Go.", max_rounds: int = 60, mode: Mode = "trust", allow: tuple[str, ...] = ()
    ) -> str:
        """Most tests are not about consent: they trust the folder, and say so here."""
        began = RunStarted("scripted", max_rounds, Text(script), mode=mode, allow=allow)
        return await self.engine.start(task, self.folder, began)

    async def run(self, script: str, max_rounds: int = 60) -> str:
        """Start, and wait for the end."""
        session = await self.start(script, max_rounds=max_rounds)
        await self.engine.wait(session)
        return session

    async def until(self, kind: type[RunEvent], count: int = 1) -> Entry:
        """The count-th fact of a kind that is heard."""
        found: list[Entry] = await self.when(lambda: [e for e in self.facts if isinstance(e.event, kind)][count - 1 :])
        return found[0]

    async def when(self, condition: Callable[[], Any]) -> Any:
        """Until a fact makes the condition true."""
        changed = asyncio.Event()
        forget = self.engine.listen(lambda _: changed.set())
        try:
            async with asyncio.timeout(BOUND_S):
                while not (found := condition()):
                    await changed.wait()
                    changed.clear()
            return found
        finally:
            forget()

    async def events(self, session: str) -> list[RunEvent]:
        """Everything in the journal of a session."""
        return [entry.event async for entry in self.engine.entries(session)]

    async def kinds(self, session: str) -> list[str]:
        return [type(event).__name__ for event in await self.events(session)]

    def status(self, session: str) -> str:
        return self.engine.session(session).status


@asynccontextmanager
async def opened(home: Path, folder: Path | None = None) -> AsyncIterator[Scene]:
    """Open the house, and close it as the program does."""
    work = folder or home / "work"
    work.mkdir(parents=True, exist_ok=True)
    bugs: list[BaseException] = []
    services = await assemble(home, bugs.append)
    try:
        yield Scene(services, work, bugs)
    finally:
        await services.close()


async def crash(scene: Scene) -> None:
    """What a killed process leaves: nothing more is written, no last word."""
    database, runs = scene.services.opened.database, scene.services.runs
    assert database is not None
    database.put = lambda job: job.done(None, Problem("The process is gone."))  # type: ignore[method-assign]
    for live in tuple(runs._live.values()):
        while not live.task.done():
            live.task.cancel()
            await asyncio.sleep(0)
        live.task.cancelled() or live.task.exception()
    scene.services.reader.close()
    database.close()


def bounded(test: Awaitable[None]) -> None:
    """Run a test's coroutine; a hang is a failure."""

    async def main() -> None:
        async with asyncio.timeout(BOUND_S * 2):
            await test

    asyncio.run(main())
