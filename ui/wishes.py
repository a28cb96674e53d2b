"""What the person wants, carried from the panels to the engine."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QObject

from core.domain.problems import Problem
from core.domain.question import Answer
from ui.bridge import Bridge
from ui.filing import Filing
from ui.link_dialog import LinkDialog
from ui.sessions.rows import Hit
from ui.tasks import Tasks
from ui.window import MainWindow

if TYPE_CHECKING:
    from core.engine.runs import Settle

StartDemo = Callable[[Bridge], Awaitable[str]]


class Wishes(QObject):
    """Connected when the window's loop runs; what is wished while the engine starts is done when it is ready."""

    def __init__(self, window: MainWindow, bridge: Bridge, start_demo: StartDemo) -> None:
        super().__init__(window)
        self._window, self._bridge, self._start_demo = window, bridge, start_demo
        self.tasks = Tasks(window.tell, self)
        window.start.demo_wanted.connect(self.start_demo)
        window.sessions.searched.connect(self.search)
        window.stop_wanted.connect(self.stop)
        window.view.page.settle.connect(self.settle)
        window.view.page.link.connect(self.open_link)
        window.pause_wanted.connect(self.pause)
        window.sessions.renamed.connect(self.rename)
        window.sessions.filed.connect(self.file)
        window.view.composer.said.connect(self.say)
        window.view.answered.connect(self.answer)

    def start_demo(self) -> None:
        async def begin() -> None:
            self._window.go_to(await self._start_demo(self._bridge))

        self.tasks.start(begin(), "start the demo")

    def say(self, text: str) -> None:
        session = self._window.selection.session

        async def send() -> None:
            try:
                await self._bridge.ask(lambda engine: engine.say(session, text))
            except Problem:
                self._window.give_back(session, text)
                raise

        self.tasks.start(send(), "say")

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
        Filing(self._window, self._bridge, self.tasks).do(word, sessions)

    def settle(self, choice: str) -> None:
        session = self._window.selection.session
        settle = cast("Settle", choice)
        self.tasks.start(self._bridge.ask(lambda engine: engine.resume(session, settle)), "settle")

    def answer(self, question: str, answer: Answer) -> None:
        self.tasks.start(self._bridge.ask(lambda engine: engine.answer(question, answer, go_on=True)), "answer")

    def search(self, text: str) -> None:
        async def look() -> None:
            hits = await self._bridge.ask(lambda engine: engine.find(text))
            self._window.sessions.show_hits([Hit(hit.session, hit.text) for hit in hits])

        if text:
            self.tasks.start(look(), "search")

    def open_link(self, address: str) -> None:
        """Nothing opens before the person has seen the whole address."""
        LinkDialog(self._window.look, address, self._window).open()
