"""What the person wants, carried from the panels to the engine."""

from collections.abc import Awaitable, Callable

from PySide6.QtCore import QObject

from ui.beginning import Beginning
from ui.bridge import Bridge
from ui.exchange_door import ExchangeDoor
from ui.filing import Filing
from ui.session_wishes import SessionWishes
from ui.sessions.rows import Hit
from ui.settings_door import SettingsDoor
from ui.side import Side
from ui.tasks import Tasks
from ui.window import MainWindow

StartDemo = Callable[[Bridge], Awaitable[str]]


class Wishes(QObject):
    """Connected when the window's loop runs; what is wished while the engine starts is done when it is ready."""

    def __init__(self, window: MainWindow, bridge: Bridge, start_demo: StartDemo, folder: str) -> None:
        super().__init__(window)
        self._window, self._bridge, self._start_demo = window, bridge, start_demo
        self.tasks = Tasks(window.tell, self)
        self.sessions: list[SessionWishes] = []
        window.meet(bridge, self.tasks.start)
        self.settings = SettingsDoor(window, bridge, self.tasks, folder)
        self.exchange = ExchangeDoor(window, bridge, self.tasks)
        self.beginning = Beginning(window, bridge, self.tasks)
        self.beginning.drop.files_dropped.connect(self.exchange.drop)
        window.start.others_wanted.connect(self.exchange.bring)
        window.settings_wanted.connect(lambda: self.settings.open())
        window.status.servers_wanted.connect(lambda: self.settings.open(window.tr("Tool servers")))
        window.start.demo_wanted.connect(self.start_demo)
        window.sessions.searched.connect(self.search)
        window.sessions.renamed.connect(self.rename)
        window.sessions.filed.connect(self.file)
        window.pane.sent.wanted.connect(self.read_sent)
        for side in window.desk.sides:
            self._serve(side)
        window.desk.built.connect(self._serve)

    def _serve(self, side: Side) -> None:
        """What is wished on a side of the desk."""
        wishes = SessionWishes(self._window, side.view, self._bridge, self.tasks)
        side.view.page.export.connect(lambda: self.exchange.export(side.view.session))
        self.sessions.append(wishes)

    def start_demo(self) -> None:
        async def begin() -> None:
            self._window.go_to(await self._start_demo(self._bridge))

        self.tasks.start(begin(), "start the demo")

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

    def search(self, text: str) -> None:
        async def look() -> None:
            hits = await self._bridge.ask(lambda engine: engine.find(text))
            self._window.sessions.show_hits([Hit(hit.session, hit.text, hit.seq) for hit in hits])

        if text:
            self.tasks.start(look(), "search")

    def read_sent(self, session: str, seq: int) -> None:
        """What the model was sent with a request, for the pane of a step."""

        async def read() -> None:
            items = await self._bridge.ask(lambda engine: engine.past.context(session, seq))
            self._window.pane.sent.show_items(session, seq, items)

        self.tasks.start(read(), "read what was sent")
