"""Runs the window's coroutines as named tasks and reports their errors."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from PySide6.QtCore import QObject

from core.domain.problems import ErrorDetails, Problem


class Tasks(QObject):
    """The running tasks of a widget.

    A `Problem` is passed to `show_error`; any other exception goes to the exception handler of the loop.
    """

    def __init__(self, show_error: Callable[[ErrorDetails], None], parent: QObject) -> None:
        super().__init__(parent)
        self._show_error = show_error
        self._running: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, Any], name: str) -> None:
        task = asyncio.get_running_loop().create_task(self._do(work), name=name)
        self._running.add(task)
        task.add_done_callback(self._end)
        task.add_done_callback(lambda _: work.close())  # closes a coroutine whose task was canceled before it started

    async def close(self) -> None:
        """Cancel all running tasks and wait until they have ended."""
        tasks = tuple(self._running)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()):
            context = {"message": f"{task.get_name()} failed.", "exception": error, "task": task}
            asyncio.get_running_loop().call_exception_handler(context)

    async def _do(self, work: Coroutine[Any, Any, Any]) -> None:
        try:
            await work
        except Problem as problem:
            self._show_error(problem.details)
