"""Runs coroutines of the window as named tasks, and reports their errors."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final, NamedTuple

from PySide6.QtCore import QObject

from core.domain.problems import ErrorDetails, Problem

PAGE: Final = "page"
UndoAction = Callable[[], asyncio.Task[bool] | None]
"""Undoes an action, at once or in the returned task, whose result is whether that succeeded."""


class ErrorSource(NamedTuple):
    """The action that failed, and the session to which it applied, if any; `PAGE` for the action of a page."""

    action: str
    session: str = ""


class Tasks(QObject):
    """The running tasks of a widget.

    A `Problem` is passed to `show_error`; any other exception goes to the exception handler of the event loop.
    `resolve_error` is called when an action of the same name succeeds later.
    """

    def __init__(
        self,
        show_error: Callable[[ErrorDetails, ErrorSource], None],
        resolve_error: Callable[[ErrorSource], None],
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._show_error = show_error
        self._resolve_error = resolve_error
        self._running: set[asyncio.Task[bool]] = set()

    def start(self, work: Coroutine[Any, Any, Any], name: str, session: str = "") -> asyncio.Task[bool]:
        """Start a task. Its result is whether the work has succeeded, that is, has not raised a `Problem`."""
        task = asyncio.get_running_loop().create_task(self._do(work, ErrorSource(name, session)), name=name)
        self._running.add(task)
        task.add_done_callback(self._end)
        # Closes the coroutine even if its task was canceled before it started.
        task.add_done_callback(lambda _: work.close())
        return task

    async def close(self) -> None:
        """Cancel all running tasks and wait until they have ended."""
        tasks = tuple(self._running)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _end(self, task: asyncio.Task[bool]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()):
            context = {"message": f"{task.get_name()} failed.", "exception": error, "task": task}
            asyncio.get_running_loop().call_exception_handler(context)

    async def _do(self, work: Coroutine[Any, Any, Any], source: ErrorSource) -> bool:
        try:
            await work
        except Problem as problem:
            self._show_error(problem.details, source)
            return False
        self._resolve_error(source)
        return True


class SessionTasks:
    """Starts tasks for the session that `session` returns at the time of the start."""

    def __init__(self, tasks: Tasks, session: Callable[[], str]) -> None:
        self._tasks = tasks
        self._session = session

    def start(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[bool]:
        return self._tasks.start(work, name, self._session())
