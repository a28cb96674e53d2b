"""The thread in which runs are worked: a stock asyncio loop of its own."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from core.domain.problems import Trouble
from ui.feed import Feed

if TYPE_CHECKING:
    from app.assemble import Services
    from core.engine.engine import Engine

T = TypeVar("T")


class EngineThread:
    """Started after the first paint: only this thread imports what is heavy.

    Attributes:
        ready: what to tell of the data, once the engine can be asked; or with the Problem that keeps it from that.
    """

    def __init__(self, folder: Path, feed: Feed, show_window: Callable[[], None]) -> None:
        self.ready: Future[tuple[Trouble, ...]] = Future()
        self._folder = folder
        self._feed = feed
        self._show_window = show_window
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closing: asyncio.Event | None = None
        self._services: Services | None = None
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    def start(self) -> None:
        self._thread.start()

    async def ask(self, work: "Callable[[Engine], Awaitable[T]]") -> T:
        """From the window's loop."""
        loop, services = self._loop, self._services
        if loop is None or services is None:
            raise RuntimeError("the engine is not ready")

        async def do() -> T:
            return await work(services.engine)

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(do(), loop))

    def close(self) -> None:
        """Stop runs, close the file, end the thread. Blocks: not for the window's thread while it shows anything."""
        if self._loop is not None and self._closing is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join()

    def _run(self) -> None:
        factory = getattr(asyncio, "ProactorEventLoop", asyncio.SelectorEventLoop)
        try:
            with asyncio.Runner(loop_factory=factory) as runner:
                runner.run(self._live())
        except BaseException as error:
            if not self.ready.done():
                self.ready.set_exception(error)
            else:
                raise

    async def _live(self) -> None:
        from app import places
        from app.assemble import assemble
        from app.output import Output
        from app.owner import Owner, can_serve
        from app.perform import performer
        from core.domain.events import QuestionAsked
        from core.store.told import Told

        self._loop = asyncio.get_running_loop()
        self._closing = asyncio.Event()
        self._services = services = await assemble(self._folder, self._feed.put)

        def hear(told: Told) -> None:
            self._feed.put(told, urgent=isinstance(told.entry.event, QuestionAsked))

        services.engine.listen(hear)
        services.engine.listen_drafts(self._feed.put)
        do_command = performer(services, self._folder)

        async def perform(words: list[str], folder: Path, out: Output) -> int:
            if words:
                return await do_command(words, folder, out)
            self._show_window()
            return 0

        owner = Owner(places.socket(self._folder), perform)
        try:
            if can_serve():
                await owner.serve()
            self.ready.set_result(services.notes)
            await services.engine.back_up_daily()
            await self._closing.wait()
        finally:
            await owner.close()
            await services.close()
