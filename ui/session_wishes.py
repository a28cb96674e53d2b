"""What the person wants in a session on the desk, carried from its view to the engine."""

import asyncio
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, cast

from PySide6.QtCore import QObject

from core.domain.consent import Scope
from core.domain.modes import Mode
from core.domain.problems import Problem
from core.domain.question import Answer
from ui.ask.scope import OPTION
from ui.ask.wanted import Wanted
from ui.bridge import Bridge
from ui.link_dialog import LinkDialog
from ui.model_wishes import ModelWishes
from ui.queue_wishes import QueueWishes
from ui.run_wishes import RunWishes
from ui.session_view import SessionView
from ui.tasks import Tasks
from ui.trust_door import trust_said
from ui.window import MainWindow

if TYPE_CHECKING:
    from core.engine.doubt import Settle
    from core.engine.engine import Engine

NAMEABLE: Final = 20_000


class SessionWishes(QObject):
    """Whatever is wished in a view concerns the session that it shows at that moment."""

    def __init__(self, window: MainWindow, view: SessionView, bridge: Bridge, tasks: Tasks) -> None:
        super().__init__(view)
        self._window, self._view, self._bridge, self._tasks = window, view, bridge, tasks
        page, composer, asking = view.page, view.composer, view.asking
        page.stop.connect(self.stop)
        page.settle.connect(self.settle)
        page.again_wanted.connect(self.again)
        page.link.connect(self.open_link)
        composer.said.connect(self.say)
        composer.said_now.connect(lambda text: self.say(text, now=True))
        composer.files_wanted.connect(self.list_files)
        composer.mode_wanted.connect(self.set_mode)
        view.answered.connect(self.answer)
        asking.allowed.connect(self.allow)
        asking.denied.connect(self.deny)
        asking.denied_all.connect(self.stop)  # leaves it no time to ask anew
        asking.touched.connect(self.hold)
        asking.shown.connect(self.look_before)
        self.run = RunWishes(window, view, bridge, tasks)
        self.queue = QueueWishes(window, view, bridge, tasks)
        self.models = ModelWishes(view, bridge, tasks)

    @property
    def _session(self) -> str:
        return self._view.session

    def say(self, text: str, *, now: bool = False) -> None:
        session, attached = self._session, self._view.composer.attached
        taken = attached.take()
        files = [(file.name, file.media_type, file.body) for file in taken]

        row = self._window.row(session)

        def take_back() -> None:
            self._window.give_back(session, text)
            attached.put_back(taken)

        async def send() -> None:
            try:
                begins = row.folder and row.status not in {"running", "waiting"}  # a run, which obeys the folder
                if begins and not await trust_said(self._window, self._bridge, row.folder, new=False):
                    take_back()
                    return
                await self._bridge.ask(lambda engine: engine.say(session, text, now=now, files=files))
            except Problem:
                take_back()
                raise

        self._tasks.start(send(), "say")

    def list_files(self) -> None:
        """The files a message may name, and the person's own commands; looked for beside everything else."""
        folder = self._window.row(self._session).folder

        async def look() -> None:
            files, commands = await self._bridge.ask(partial(_files, folder))
            completion = self._view.composer.completion
            completion.set_found(files, commands)
            resources, prompts = await self._bridge.ask(_extras)  # a server may have to be started for it
            if resources or prompts:
                completion.set_found([*resources, *files], {**commands, **prompts})

        self._tasks.start(look(), "list files")

    def stop(self) -> None:
        session = self._session
        self._tasks.start(self._bridge.ask(lambda engine: engine.stop(session)), "stop")

    def settle(self, choice: str) -> None:
        session = self._session
        settle = cast("Settle", choice)
        self._tasks.start(self._bridge.ask(lambda engine: engine.resume(session, settle)), "settle")

    def again(self) -> None:
        session, folder = self._session, self._window.row(self._session).folder

        async def begin() -> None:
            if await trust_said(self._window, self._bridge, folder, new=False):
                await self._bridge.ask(lambda engine: engine.again(session))

        self._tasks.start(begin(), "try again")

    def answer(self, question: str, answer: Answer) -> None:
        self._tasks.start(self._bridge.ask(lambda engine: engine.answer(question, answer, go_on=True)), "answer")

    def allow(self, names: tuple[str, ...], scope: Scope | Literal["option"], patterns: tuple[str, ...]) -> None:
        """The first with its scope, those like it one by one: only what was seen is allowed; a rule may come first."""
        first, *others = names

        async def say(engine: "Engine") -> None:
            if scope == OPTION:
                await engine.choose(first, patterns[0], go_on=True)
                return
            await engine.allow(first, scope, patterns, go_on=not others)
            for name in others:
                with suppress(Problem):
                    await engine.allow(name, go_on=name == others[-1])

        self._tasks.start(self._bridge.ask(say), "allow")

    def deny(self, names: tuple[str, ...], reason: str) -> None:
        async def say(engine: "Engine") -> None:
            for name in names:
                await engine.deny(name, reason, go_on=name == names[-1])

        self._tasks.start(self._bridge.ask(say), "deny")

    def hold(self, question: str) -> None:
        """Somebody begins to answer, so it does not run out of time."""
        self._tasks.start(self._bridge.ask(lambda engine: engine.hold(question)), "hold")

    def set_mode(self, mode: Mode) -> None:
        session = self._session
        self._tasks.start(self._bridge.ask(lambda engine: engine.set_mode(session, mode)), "set the mode")

    def look_before(self, asked: object) -> None:
        """A whole file that is to be written is compared with what is there now."""
        if not isinstance(asked, Wanted) or asked.request.tool != "write":
            return
        folder, path = asked.request.cwd, str(asked.plain().get("path", ""))

        async def look(_engine: "Engine") -> str:
            return await asyncio.to_thread(held_now, folder, path)

        async def show() -> None:
            if before := await self._bridge.ask(look):
                self._view.asking.show_before(asked.id, before)

        self._tasks.start(show(), "look at the file")

    def open_link(self, address: str) -> None:
        """Nothing opens before the person has seen the whole address."""
        LinkDialog(self._window.look, address, self._window).open()


def held_now(folder: str, path: str) -> str:
    """The text of a file of the folder; empty where there is none that can be shown."""
    from core.workspace.broker import Broker  # in another thread, and only when something is to be written

    try:
        with Broker(Path(folder)) as broker:
            return broker.read(path).decode("utf-8", "replace")
    except Problem:
        return ""


async def _files(folder: str, engine: "Engine") -> tuple[list[str], dict[str, str]]:
    """In the engine's thread, which has these parts already; the walk itself in one of its own."""
    from core.tools.walk import Walk

    def walk() -> list[str]:
        return ["/".join(path) for path in islice(Walk(Path(folder)).files(), NAMEABLE)]

    own = await asyncio.to_thread(engine.commands, Path(folder))
    return await asyncio.to_thread(walk), {name: command.about for name, command in own.items()}


async def _extras(engine: "Engine") -> tuple[list[str], dict[str, str]]:
    """What tool servers offer besides tools: resources by `@`, prompts by `/`."""
    found = await engine.servers.extras()
    prompts = {each.typed: " ".join((*(f"<{name}>" for name in each.arguments), each.about)) for each in found.prompts}
    return [each.typed for each in found.resources], prompts
