"""Coroutines of the window: held, named, ended with their widget, their problems told."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from PySide6.QtCore import QObject

from core.domain.problems import Problem, Trouble


class Tasks(QObject):
    """Belongs to a widget; `trouble` is called with what goes wrong in the world, bugs go to the loop's handler."""

    def __init__(self, trouble: Callable[[Trouble], None], parent: QObject) -> None:
        super().__init__(parent)
        self._trouble = trouble
        self._going: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, Any], name: str) -> None:
        task = asyncio.get_running_loop().create_task(self._do(work), name=name)
        self._going.add(task)
        task.add_done_callback(self._end)
        task.add_done_callback(lambda _: work.close())  # a task that is cancelled before it begins leaves it unawaited

    async def close(self) -> None:
        """Cancel what goes, and wait for it."""
        tasks = tuple(self._going)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._going.discard(task)
        if not task.cancelled() and (error := task.exception()):
            context = {"message": f"{task.get_name()} failed.", "exception": error, "task": task}
            asyncio.get_running_loop().call_exception_handler(context)

    async def _do(self, work: Coroutine[Any, Any, Any]) -> None:
        try:
            await work
        except Problem as problem:
            self._trouble(problem.trouble)
