"""Servers on this computer are slow, silent for long, and start again in the middle of a run: nothing is lost."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.domain.events import Replied, ReplyInterrupted, RequestRetried, RunPaused, RunStarted
from core.models import retry
from core.settings.schema import Provider
from tests.core.engine.harness import EngineHarness, open_engine, run_bounded
from tests.servers.scripted_server import (
    ScriptedServer,
    answer,
    chunk,
    close_listener,
    failure,
    scripted_server,
    stream,
)

LISTING = answer(json.dumps({"data": [{"id": "m"}]}).encode(), "application/json")
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
DONE = answer(stream(chunk(content="All done."), chunk("stop")))
LOADING = failure("503 Service Unavailable", {"error": {"code": 503, "message": "Loading model"}})
HALF = stream(chunk(content="Größe: 1"), end="") + 'data: {"choices": [{"delta": {"content": "ß'.encode()[:-1]


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry without waiting."""
    monkeypatch.setattr(retry, "INITIAL_DELAY_S", 0.001)


async def started(scene: EngineHarness, url: str) -> str:
    scene.engine.settings.change(providers=(Provider(name="box", url=url),))
    return await scene.engine.start("Go.", scene.folder, RunStarted("box/m", mode="auto", interactive=True))


@contextlib.asynccontextmanager
async def serving_again(port: int, *answers: list[bytes]) -> AsyncIterator[ScriptedServer]:
    played = ScriptedServer(answers)
    server = await asyncio.start_server(played.serve, "127.0.0.1", port)
    try:
        yield played
    finally:
        await close_listener(server)
        await played.close()


def test_a_server_may_be_silent_for_twenty_minutes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of the event loop is put forward while the server reads the prompt."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        real_time, passed = loop.time, [0.0]
        monkeypatch.setattr(loop, "time", lambda: real_time() + passed[0])

        class Silent(ScriptedServer):
            async def _write(self, data: bytes, writer: asyncio.StreamWriter) -> None:
                if self.connections > 1 and not passed[0]:
                    passed[0] = 1_200.0
                    for _ in range(20):  # let every timer that is due now expire
                        await asyncio.sleep(0)
                await super()._write(data, writer)

        async with open_engine(tmp_path) as scene, scripted_server(LISTING, DONE, kind=Silent) as server:
            session = await started(scene, server.url)
            await scene.engine.wait_idle(session)
            events = await scene.events(session)
            assert scene.status(session) == "done" and passed == [1_200.0]
            assert not any(isinstance(event, RequestRetried | ReplyInterrupted) for event in events)

    asyncio.run(main())  # not bounded, because the bound is a time too


def test_a_killed_server_that_starts_again_finishes_the_run(tmp_path: Path) -> None:
    """It is gone in the middle of a character, refuses connections, then loads its model."""

    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            played = ScriptedServer([LISTING, [HEAD + HALF, "reset"]])
            listener = await asyncio.start_server(played.serve, "127.0.0.1", 0)
            port = listener.sockets[0].getsockname()[1]
            session = await started(scene, f"http://127.0.0.1:{port}/v1")
            await scene.until(ReplyInterrupted)
            await close_listener(listener)
            await played.close()
            await scene.until(RequestRetried, retry.MAX_ATTEMPTS + 1)
            async with serving_again(port, LOADING, LOADING, DONE):  # type: ignore[arg-type]
                await scene.engine.wait_idle(session)
            events = await scene.events(session)
            assert scene.status(session) == "done" and scene.bugs == []
            (cut,) = [event.text.head for event in events if isinstance(event, ReplyInterrupted)]
            (reply,) = [event.text.head for event in events if isinstance(event, Replied)]
            assert (cut, reply) == ("Größe: 1", "All done.")

    run_bounded(main())


def test_a_server_that_never_answered_is_not_waited_for(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            session = await started(scene, "http://127.0.0.1:9/v1")
            await scene.engine.wait_idle(session)
            events = await scene.events(session)
            assert scene.status(session) == "paused"
            assert sum(isinstance(event, RequestRetried) for event in events) == retry.MAX_ATTEMPTS - 1
            assert any(isinstance(event, RunPaused) for event in events)

    run_bounded(main())
