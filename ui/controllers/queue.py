"""Passes the user's changes to queued messages to the engine. The removal of a message can be undone."""

import asyncio

from PySide6.QtCore import QObject

from ui.base.bridge import Bridge
from ui.base.tasks import SessionTasks
from ui.shell.main_window import MainWindow
from ui.shell.session_view import SessionView


class QueueController(QObject):
    """Connects the cards of queued messages in one session view with the engine."""

    def __init__(self, window: MainWindow, view: SessionView, bridge: Bridge, tasks: SessionTasks) -> None:
        super().__init__(view)
        self._window = window
        self._view = view
        self._bridge = bridge
        self._tasks = tasks
        cards = view.composer.queue
        cards.edited.connect(self.edit)
        cards.moved.connect(self.move)
        cards.send_now_requested.connect(self.send_now)
        cards.removed.connect(self.remove)
        cards.unsent_text.connect(lambda text: window.restore_draft(self._session, text))

    @property
    def _session(self) -> str:
        return self._view.session

    def edit(self, entry: int, text: str) -> None:
        session = self._session
        self._tasks.start(self._bridge.ask(lambda engine: engine.queue.edit(session, entry, text)), "edit a message")

    def move(self, entry: int, index: int) -> None:
        session = self._session
        self._tasks.start(self._bridge.ask(lambda engine: engine.queue.move(session, entry, index)), "move a message")

    def send_now(self, entry: int) -> None:
        session = self._session
        self._tasks.start(self._bridge.ask(lambda engine: engine.queue.send_now(session, entry)), "send now")

    def remove(self, entry: int) -> None:
        session = self._session

        async def remove() -> None:
            index = await self._bridge.ask(lambda engine: engine.queue.remove(session, entry))

            def undo() -> asyncio.Task[bool]:
                restoring = self._bridge.ask(lambda engine: engine.queue.restore(session, entry, index))
                return self._tasks.start(restoring, "undo the removal of a message")

            self._window.toast.show_message(self.tr("Removed the message from the queue."), undo)

        self._tasks.start(remove(), "remove a message")
