"""Timers of the window's event loop, and tasks that end with their widget."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication

from core.domain.problems import ErrorDetails, Problem
from ui.base.tasks import ErrorSource, Tasks
from ui.base.window_loop import WindowLoop

T = TypeVar("T")


def in_window(app: QApplication, work: Callable[[], Awaitable[T]]) -> T:
    async def do() -> T:
        return await work()

    with asyncio.Runner(loop_factory=lambda: WindowLoop(app)) as runner:
        return runner.run(do())


@pytest.mark.parametrize("delay", [0.0005, 0.004, 0.03, 0.2])
def test_a_timer_is_never_early(qapp: QApplication, delay: float) -> None:
    async def measure() -> float:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        await asyncio.sleep(delay)
        return loop.time() - begun

    assert in_window(qapp, measure) >= delay


def test_a_canceled_timer_does_not_fire(qapp: QApplication) -> None:
    async def cancel() -> int:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, WindowLoop)
        for _ in range(20_000):
            loop.call_later(60, lambda: None).cancel()
        return loop.timers

    assert in_window(qapp, cancel) == 0


def test_timers_fire_in_order(qapp: QApplication) -> None:
    async def order() -> list[int]:
        fired: list[int] = []
        done = asyncio.Event()
        loop = asyncio.get_running_loop()
        for name, delay in ((3, 0.06), (1, 0.01), (2, 0.03)):
            loop.call_later(delay, fired.append, name)
        loop.call_later(0.09, done.set)
        await done.wait()
        return fired

    assert in_window(qapp, order) == [1, 2, 3]


def test_an_error_is_shown_and_a_bug_goes_to_the_exception_handler(qapp: QApplication) -> None:
    errors: list[tuple[ErrorDetails, ErrorSource]] = []
    resolved: list[ErrorSource] = []
    bugs: list[Any] = []

    async def fail(error: Exception) -> None:
        raise error

    async def both() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: bugs.append(context.get("exception")))
        owner = QObject()
        tasks = Tasks(lambda *error: errors.append(error), resolved.append, owner)
        tasks.start(fail(Problem("a", "b", "c")), "world", "s1")
        tasks.start(asyncio.sleep(0), "world", "s2")
        tasks.start(fail(KeyError("ours")), "bug")
        for _ in range(5):
            await asyncio.sleep(0)
        await tasks.close()

    in_window(qapp, both)
    assert errors == [(ErrorDetails("a", "b", "c"), ErrorSource("world", "s1"))]
    assert resolved == [ErrorSource("world", "s2")]
    assert [type(bug) for bug in bugs] == [KeyError]


def test_closing_ends_running_work(qapp: QApplication) -> None:
    ended: list[str] = []

    async def last() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("yes")

    async def start_and_close() -> None:
        tasks = Tasks(lambda *_: None, lambda _: None, QObject())
        tasks.start(last(), "last")
        await asyncio.sleep(0)
        await tasks.close()

    in_window(qapp, start_and_close)
    assert ended == ["yes"]
