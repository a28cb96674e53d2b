"""What the person wants, carried from the panels to the engine."""

import asyncio
from collections.abc import Awaitable, Callable
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
from ui.beginning import Beginning
from ui.bridge import Bridge
from ui.exchange_door import ExchangeDoor
from ui.filing import Filing
from ui.link_dialog import LinkDialog
from ui.model_wishes import ModelWishes
from ui.queue_wishes import QueueWishes
from ui.run_wishes import RunWishes
from ui.sessions.rows import Hit
from ui.settings_door import SettingsDoor
from ui.tasks import Tasks
from ui.trust_door import trust_said
from ui.window import MainWindow

if TYPE_CHECKING:
    from core.engine.doubt import Settle
    from core.engine.engine import Engine

NAMEABLE: Final = 20_000

StartDemo = Callable[[Bridge], Awaitable[str]]


class Wishes(QObject):
    """Connected when the window's loop runs; what is wished while the engine starts is done when it is ready."""

    def __init__(self, window: MainWindow, bridge: Bridge, start_demo: StartDemo, folder: str) -> None:
        super().__init__(window)
        self._window, self._bridge, self._start_demo = window, bridge, start_demo
        self.tasks = Tasks(window.tell, self)
        window.meet(bridge, self.tasks.start)
        self.settings = SettingsDoor(window, bridge, self.tasks, folder)
        self.exchange = ExchangeDoor(window, bridge, self.tasks)
        self.beginning = Beginning(window, bridge, self.tasks)
        self.beginning.drop.files_dropped.connect(self.exchange.drop)
        window.start.others_wanted.connect(self.exchange.bring)
        window.view.page.export.connect(lambda: self.exchange.export(window.selection.session))
        window.settings_wanted.connect(lambda: self.settings.open())
        window.start.demo_wanted.connect(self.start_demo)
        window.sessions.searched.connect(self.search)
        window.stop_wanted.connect(self.stop)
        window.view.page.settle.connect(self.settle)
        window.view.page.link.connect(self.open_link)
        window.pause_wanted.connect(self.pause)
        window.sessions.renamed.connect(self.rename)
        window.sessions.filed.connect(self.file)
        window.view.composer.said.connect(self.say)
        window.view.composer.said_now.connect(lambda text: self.say(text, now=True))
        window.view.composer.files_wanted.connect(self.list_files)
        window.view.answered.connect(self.answer)
        self.run = RunWishes(window, bridge, self.tasks)
        self.queue = QueueWishes(window, bridge, self.tasks)
        self.models = ModelWishes(window, bridge, self.tasks)
        window.view.asking.allowed.connect(self.allow)
        window.view.asking.denied.connect(self.deny)
        window.view.asking.denied_all.connect(self.deny_all)
        window.view.asking.touched.connect(self.hold)
        window.view.asking.shown.connect(self.look_before)
        window.view.composer.mode_wanted.connect(self.set_mode)

    def start_demo(self) -> None:
        async def begin() -> None:
            self._window.go_to(await self._start_demo(self._bridge))

        self.tasks.start(begin(), "start the demo")

    def say(self, text: str, *, now: bool = False) -> None:
        session, attached = self._window.selection.session, self._window.view.composer.attached
        taken = attached.take()
        files = [(file.name, file.media_type, file.body) for file in taken]

        row = self._window.row(session)

        async def send() -> None:
            try:
                if row.folder and row.status not in (
                    "running",
                    "waiting",
                ):  # a run begins, which obeys it
                    await trust_said(self._window, self._bridge, row.folder, new=False)
                await self._bridge.ask(lambda engine: engine.say(session, text, now=now, files=files))
            except Problem:
                self._window.give_back(session, text)
                attached.put_back(taken)
                raise

        self.tasks.start(send(), "say")

    def list_files(self) -> None:
        """The files a message may name, and the person's own commands; looked for beside everything else."""
        folder = self._window.row(self._window.selection.session).folder

        async def look() -> None:
            files, commands = await self._bridge.ask(partial(_files, folder))
            self._window.view.composer.completion.set_found(files, commands)

        self.tasks.start(look(), "list files")

    def stop(self) -> None:
        session = self._window.selection.session
        self.tasks.start(self._bridge.ask(lambda engine: engine.stop(session)), "stop")

    def pause(self) -> None:
        session = self._window.selection.session
        self.tasks.start(self._bridge.ask(lambda engine: engine.pause(session)), "pause")

    def rename(self, session: str, title: str) -> None:
        self.tasks.start(self._bridge.ask(lambda engine: engine.shelf.rename(session, title)), "rename")

    def file(self, word: str, sessions: list[str]) -> None:
        """What is wished of sessions in the list."""
        if word == "export":
            self.exchange.export(sessions[0])
        elif word == "import":
            self.exchange.bring()
        else:
            Filing(self._window, self._bridge, self.tasks).do(word, sessions)

    def settle(self, choice: str) -> None:
        session = self._window.selection.session
        settle = cast("Settle", choice)
        self.tasks.start(self._bridge.ask(lambda engine: engine.resume(session, settle)), "settle")

    def answer(self, question: str, answer: Answer) -> None:
        self.tasks.start(self._bridge.ask(lambda engine: engine.answer(question, answer, go_on=True)), "answer")

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

        self.tasks.start(self._bridge.ask(say), "allow")

    def deny(self, names: tuple[str, ...], reason: str) -> None:
        async def say(engine: "Engine") -> None:
            for name in names:
                await engine.deny(name, reason, go_on=name == names[-1])

        self.tasks.start(self._bridge.ask(say), "deny")

    def deny_all(self) -> None:
        """The end of the run denies all that it asks, and leaves it no time to ask anew."""
        self.stop()

    def hold(self, question: str) -> None:
        """Somebody begins to answer, so it does not run out of time."""
        self.tasks.start(self._bridge.ask(lambda engine: engine.hold(question)), "hold")

    def set_mode(self, mode: Mode) -> None:
        session = self._window.selection.session
        self.tasks.start(self._bridge.ask(lambda engine: engine.set_mode(session, mode)), "set the mode")

    def look_before(self, asked: object) -> None:
        """A whole file that is to be written is compared with what is there now."""
        if not isinstance(asked, Wanted) or asked.request.tool != "write":
            return
        folder, path = asked.request.cwd, str(asked.plain().get("path", ""))

        async def look(_engine: "Engine") -> str:
            return await asyncio.to_thread(held_now, folder, path)

        async def show() -> None:
            if before := await self._bridge.ask(look):
                self._window.view.asking.show_before(asked.id, before)

        self.tasks.start(show(), "look at the file")

    def search(self, text: str) -> None:
        async def look() -> None:
            hits = await self._bridge.ask(lambda engine: engine.find(text))
            self._window.sessions.show_hits([Hit(hit.session, hit.text, hit.seq) for hit in hits])

        if text:
            self.tasks.start(look(), "search")

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
