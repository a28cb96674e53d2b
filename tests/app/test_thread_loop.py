"""The event loop of the engine's thread ends even while a process is being started, or if a task does not end."""

import asyncio
import sys
import threading
from asyncio.subprocess import PIPE
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from app.window import thread_loop
from app.window.engine_thread import EngineThread
from app.window.thread_loop import run_event_loop
from core.domain.sessions import SessionRow
from core.engine.api.engine import Engine
from ui.base.feed import Feed

END_S = 30.0


def run_in_thread(main: Any, requests: set[asyncio.Task[Any]]) -> list[BaseException]:
    """Run a coroutine in an event loop of its own, and return what the loop reported when it ended."""
    reported: list[BaseException] = []
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=run_event_loop, args=(loop, main, requests, reported.append), daemon=True)
    thread.start()
    thread.join(END_S)
    assert not thread.is_alive() and loop.is_closed()
    return reported


def test_a_loop_ends_while_a_task_is_starting_a_process() -> None:
    requests: set[asyncio.Task[Any]] = set()

    async def main() -> None:
        command = [sys.executable, "-c", "import time; time.sleep(600)"]
        requests.add(asyncio.create_task(asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE)))
        await asyncio.sleep(0)  # the process runs now, and its pipes are not connected yet

    assert run_in_thread(main(), requests) == []
    assert next(iter(requests)).cancelled()


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
def test_a_task_that_does_not_end_is_reported_by_name_and_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_loop, "CANCEL_S", 0.1)
    stubborn: list[asyncio.Task[None]] = []

    async def ignore_cancellation() -> None:
        while True:
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()

    async def main() -> None:
        stubborn.append(asyncio.create_task(ignore_cancellation(), name="the stubborn task"))
        await asyncio.sleep(0)

    [error] = run_in_thread(main(), set())
    assert "the stubborn task" in str(error) and "await asyncio.Event().wait()" in str(error)
    stubborn[0]._log_destroy_pending = False  # type: ignore[attr-defined]  # it is abandoned on purpose


def test_the_engine_ends_while_a_request_is_starting_a_process(home: Path) -> None:
    reported: list[BaseException] = []
    engine = EngineThread(home, Feed(), lambda _: None, reported.append)

    async def start_process_at_the_end(_: object) -> None:
        live = next(task for task in asyncio.all_tasks() if task.get_coro().__name__ == "_open_and_run")  # type: ignore[union-attr]
        engine.shut_down()
        while not live.done():  # noqa: ASYNC110 - it must run in the very last turns of the loop
            await asyncio.sleep(0)
        await asyncio.create_subprocess_exec("sleep", "600", stdin=PIPE, stdout=PIPE)

    async def ask_and_leave() -> None:
        asking = asyncio.ensure_future(engine.ask(start_process_at_the_end))
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(asking, END_S)

    engine.start()
    engine.allow_imports()
    asyncio.run(ask_and_leave())
    engine.ended.result(END_S)
    assert reported == []


def test_a_request_in_progress_ends_before_the_database_is_closed(home: Path) -> None:
    reported: list[BaseException] = []
    engine = EngineThread(home, Feed(), lambda _: None, reported.append)

    async def read_while_the_engine_ends(opened: Engine) -> list[SessionRow]:
        engine.shut_down()
        with suppress(TimeoutError):
            await asyncio.to_thread(engine.ended.result, 0.2)
        return opened.sessions()

    engine.start()
    engine.allow_imports()
    assert asyncio.run(asyncio.wait_for(engine.ask(read_while_the_engine_ends), END_S)) == []
    engine.ended.result(END_S)
    assert reported == []
