"""The thread in which the engine runs, with its own asyncio event loop."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from app.process.crash import exception_of_context
from app.window.thread_loop import end_requests, run_event_loop
from core.domain.permissions import PermissionRequested
from core.domain.problems import Problem
from core.domain.question import QuestionAsked
from core.store.journal_update import CommandEnded, JournalUpdate, MemoriesChanged, SessionsPurged
from ui.base.feed import Feed
from ui.text.markdown_blocks import preload_parser

if TYPE_CHECKING:
    from app.process.command_server import CommandRunner
    from app.process.output import Output
    from app.process.services import Services
    from core.engine.api.engine import Engine
    from core.store.data_folder import DataFolder

T = TypeVar("T")


class EngineThread:
    """The engine's thread, which starts after the window's first paint, opens the database and does the slow imports.

    Startup has three steps: the database is open, the window shows the sessions, the engine answers requests. If the
    last process was killed, the engine marks its runs as interrupted before the window shows them.

    Attributes:
        ended: A future that is done when the thread has closed everything.
        failed: Whether an error ended the thread. Every later request then fails.
    """

    def __init__(
        self,
        folder: Path,
        feed: Feed,
        show_window: Callable[[list[str]], None],
        report: Callable[[BaseException], None],
        *,
        safe: bool = False,
    ) -> None:
        self.ended: Future[None] = Future()
        self._opened: Future[DataFolder] = Future()
        self._sessions_shown: Future[None] = Future()
        self._engine: Future[Engine | None] = Future()  # None if the thread ended before the engine was ready
        for future in (self._opened, self._sessions_shown, self._engine, self.ended):
            # A running future cannot be canceled, so canceling one task that waits for it does not cancel the others.
            future.set_running_or_notify_cancel()
        self._folder = folder
        self._feed = feed
        self._show_window = show_window
        self._report = report
        self._safe = safe
        self.failed = False
        self._shutting_down: Future[None] = Future()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._requests: set[asyncio.Task[Any]] = set()
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    def start(self) -> None:
        self._thread.start()

    async def opened(self) -> "DataFolder":
        """Wait until the database is open, and return the data folder. Raise the Problem that prevents opening it."""
        return await asyncio.wrap_future(self._opened)

    def allow_imports(self) -> None:
        """Let the slow imports begin; called once the window shows the sessions, because imports would delay that."""
        if not self._sessions_shown.done():
            self._sessions_shown.set_result(None)

    async def ask(self, work: "Callable[[Engine], Awaitable[T]]") -> T:
        """Run `work` on the engine's event loop once the engine is ready. Awaited on the window's event loop."""
        await self.opened()
        engine = await asyncio.wrap_future(self._engine)
        if self._shutting_down.done():
            raise asyncio.CancelledError
        if engine is None or self.failed:
            raise Problem("The engine has stopped.", "An internal error ended it.", "Restart Journeyman.")

        async def work_on_engine() -> T:
            if self._shutting_down.done():
                raise asyncio.CancelledError
            task = asyncio.current_task()
            assert task is not None
            self._requests.add(task)
            try:
                return await work(engine)
            finally:
                self._requests.discard(task)

        assert self._loop is not None
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work_on_engine(), self._loop))

    def shut_down(self) -> None:
        """Begin to stop the runs, close the database and end the thread.

        Return at once; wait for the future `ended`.
        """
        self.allow_imports()
        if not self._shutting_down.done():
            self._shutting_down.set_result(None)

    def _run(self) -> None:
        factory = getattr(asyncio, "ProactorEventLoop", asyncio.SelectorEventLoop)
        try:
            loop = factory()
            loop.set_exception_handler(self._handle_loop_exception)
            run_event_loop(loop, self._open_and_run(), self._requests, self._report)
        except BaseException as error:
            self.failed = True
            if self._opened.done():
                self._report(error)
            else:
                self._opened.set_exception(error)
        finally:
            if not self._engine.done():
                self._engine.set_result(None)
            self.ended.set_result(None)

    async def _open_and_run(self) -> None:
        from core.store.data_folder import open_data_folder

        preload_parser()
        self._loop = asyncio.get_running_loop()
        opened = open_data_folder(self._folder)
        if opened.was_closed:
            await self._show_sessions(opened)
        await self._run_engine(opened)

    async def _show_sessions(self, opened: "DataFolder") -> None:
        self._opened.set_result(opened)
        await asyncio.wrap_future(self._sessions_shown)

    async def _run_engine(self, opened: "DataFolder") -> None:
        from app.process import data_folder
        from app.process.command_server import CommandServer, has_private_sockets
        from app.process.services import build_services

        services = await build_services(self._folder, self._report, safe=self._safe, opened=opened)
        self._subscribe(services)
        owner = CommandServer(data_folder.socket_path(self._folder), self._command_runner(services))
        try:
            if has_private_sockets():
                await owner.serve()
            if not opened.was_closed:
                await self._show_sessions(opened)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(services.engine.warm_up(), name="warm up")
                await asyncio.sleep(0)  # `warm_up` first imports the modules that two threads must not import at once
                self._engine.set_result(services.engine)
            # Imported only now, because it would delay the engine.
            from app.window.background_tasks import run_background_tasks

            await run_background_tasks(services, self._shutting_down, self._report, safe=self._safe)
        finally:
            await end_requests(self._requests)  # a request uses the services, so it must end before they close
            await owner.close()
            await services.close()

    def _subscribe(self, services: "Services") -> None:
        """Pass the engine's events, streamed text and other changes to the window, through its feed."""
        engine = services.engine
        engine.subscribe(self._on_update)
        engine.subscribe_live_updates(self._feed.put)
        engine.mcp_servers.subscribe(self._feed.put)
        services.local_models.subscribe(self._feed.put)
        engine.memory.subscribe(lambda: self._feed.put(MemoriesChanged()))
        engine.archive.subscribe_purged(lambda names: self._feed.put(SessionsPurged(names)))

    def _command_runner(self, services: "Services") -> "CommandRunner":
        """Return the function that runs commands of other processes. It also handles `open`, by raising the window."""
        from app.commands.command_runner import make_command_runner

        run_command = make_command_runner(services, self._folder)

        async def run(argv: list[str], folder: Path, out: "Output") -> int:
            if not argv or argv[0] == "open":
                self._show_window(argv[1:])
                return 0
            try:
                return await run_command(argv, folder, out)
            finally:
                self._feed.put(CommandEnded())

        return run

    def _on_update(self, update: JournalUpdate) -> None:
        self._feed.put(update, urgent=isinstance(update.entry.event, QuestionAsked | PermissionRequested))

    def _handle_loop_exception(self, _loop: object, context: dict[str, Any]) -> None:
        self._report(exception_of_context(context))
