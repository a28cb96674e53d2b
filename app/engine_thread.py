"""The thread in which runs are worked: a stock asyncio loop of its own."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from app.crash import of_context
from core.domain.consent import ConsentAsked
from core.domain.problems import Problem
from core.domain.question import QuestionAsked
from core.store.told import Gone, Told
from ui.feed import Feed
from ui.markdown import prepare

if TYPE_CHECKING:
    from app.assemble import Services
    from core.engine.engine import Engine
    from core.engine.schedules import Met
    from core.store.opening import Opened

T = TypeVar("T")


class EngineThread:
    """Started after the first paint: only this thread imports what is heavy.

    Attributes:
        ended: set when everything is closed.
        fallen: it ended by itself; nothing can be asked of it any more.
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
        self._ready: Future[Opened] = Future()
        self._shown: Future[None] = Future()
        self._able: Future[None] = Future()
        for one in (self._ready, self._shown, self._able, self.ended):
            one.set_running_or_notify_cancel()  # whoever stops waiting must not cancel it for the others
        self._folder = folder
        self._feed = feed
        self._show_window = show_window
        self._report = report
        self._safe = safe
        self.fallen = False
        self._leaving: Future[None] = Future()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._engine: Engine | None = None
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    def start(self) -> None:
        self._thread.start()

    async def met(self) -> "Opened":
        """What was opened, once it can be read. Raises the Problem that keeps it from that."""
        return await asyncio.wrap_future(self._ready)

    def go_on(self) -> None:
        """The window shows what there is. Until then nothing heavy begins here: it would keep the window waiting."""
        if not self._shown.done():
            self._shown.set_result(None)

    async def ask(self, work: "Callable[[Engine], Awaitable[T]]") -> T:
        """From the window's loop. What is asked while the engine starts is done when it is ready."""
        await self.met()
        await asyncio.wrap_future(self._able)
        loop, engine = self._loop, self._engine
        assert loop is not None and engine is not None
        if self._leaving.done():
            raise asyncio.CancelledError
        if self.fallen:
            raise Problem("The engine has ended.", "A mistake of Journeyman's own stopped it.", "Restart Journeyman.")

        async def do() -> T:
            return await work(engine)

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(do(), loop))

    def leave(self) -> None:
        """Stop runs, close the file, end the thread; `ended` tells when that is done."""
        self.go_on()
        if not self._leaving.done():
            self._leaving.set_result(None)

    def _run(self) -> None:
        factory = getattr(asyncio, "ProactorEventLoop", asyncio.SelectorEventLoop)
        try:
            with asyncio.Runner(loop_factory=factory) as runner:
                runner.get_loop().set_exception_handler(self._hear_fault)
                runner.run(self._live())
        except BaseException as error:
            self.fallen = True
            if self._ready.done():
                self._report(error)
            else:
                self._ready.set_exception(error)
        finally:
            if not self._able.done():
                self._able.set_result(None)
            self.ended.set_result(None)

    async def _live(self) -> None:
        from app import places
        from app.assemble import assemble
        from app.output import Output
        from app.owner import Owner, can_serve
        from app.perform import performer

        prepare()
        self._loop = asyncio.get_running_loop()
        services = await assemble(self._folder, self._report, safe=self._safe)
        self._engine = services.engine
        services.engine.listen(self._hear)
        services.engine.listen_drafts(self._feed.put)
        services.engine.servers.listen(self._feed.put)
        services.engine.shelf.listen_gone(lambda names: self._feed.put(Gone(names)))
        do_command = performer(services, self._folder)

        async def perform(words: list[str], folder: Path, out: Output) -> int:
            if words and words[0] != "open":
                return await do_command(words, folder, out)
            self._show_window(words[1:])
            return 0

        owner = Owner(places.socket(self._folder), perform)
        try:
            if can_serve():
                await owner.serve()
            self._ready.set_result(services.opened)
            await asyncio.wrap_future(self._shown)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(services.engine.warm_up(), name="warm up")
                await asyncio.sleep(0)  # it has brought now what two threads cannot import at the same time
                self._able.set_result(None)
            await self._back_up(services.engine)
            await self._stay(services)
        finally:
            await owner.close()
            await services.close()

    async def _stay(self, services: "Services") -> None:
        """Until the window leaves; what is scheduled begins meanwhile, but in safe mode nothing does by itself."""
        from app.receiving import exchange_live

        schedules = services.engine.schedules
        async with asyncio.TaskGroup() as tasks:
            endless = [
                tasks.create_task(services.reviews.watch(), name="reviews"),
                tasks.create_task(services.engine.desk.keep_findable(self._report), name="index imports"),
            ]
            if not self._safe:
                endless.append(tasks.create_task(services.meaning.watch(), name="meaning"))
                tasks.create_task(schedules.watch(self._met, self._report), name="schedules")
                tasks.create_task(exchange_live(services.engine, self._leaving, self._report), name="others, live")
            await asyncio.wrap_future(self._leaving)
            schedules.leave()
            for one in endless:
                one.cancel()

    async def _back_up(self, engine: "Engine") -> None:
        """A backup that fails is told, and stops nothing. What was in the trash long enough goes after it."""
        try:
            await engine.back_up_daily()
            if engine.can_write:
                await engine.shelf.empty_old()
                await engine.memory.tidy()
        except Problem as problem:
            self._report(problem)

    def _met(self, met: "Met") -> None:
        """A session that was begun shows itself; one that was not is told."""
        if met.schedule.trouble:
            do = "See the schedules in the settings."
            self._report(Problem(f"The schedule {met.schedule.id} began nothing.", met.schedule.trouble, do))

    def _hear(self, told: Told) -> None:
        self._feed.put(told, urgent=isinstance(told.entry.event, QuestionAsked | ConsentAsked))

    def _hear_fault(self, _loop: object, context: dict[str, Any]) -> None:
        self._report(of_context(context))
