"""What the person wants of messages that wait, carried to the engine; what is taken back can be put back."""

from PySide6.QtCore import QObject

from ui.bridge import Bridge
from ui.session_view import SessionView
from ui.tasks import Tasks
from ui.window import MainWindow


class QueueWishes(QObject):
    """Connected together with the other wishes of a view."""

    def __init__(self, window: MainWindow, view: SessionView, bridge: Bridge, tasks: Tasks) -> None:
        super().__init__(view)
        self._window, self._view, self._bridge, self._tasks = window, view, bridge, tasks
        cards = view.composer.queue
        cards.edited.connect(self.edit)
        cards.moved.connect(self.move)
        cards.hurried.connect(self.send_now)
        cards.removed.connect(self.remove)
        cards.unsent.connect(lambda words: window.give_back(self._session, words))

    @property
    def _session(self) -> str:
        return self._view.session

    def edit(self, entry: int, text: str) -> None:
        session = self._session
        self._tasks.start(self._bridge.ask(lambda engine: engine.queue.edit(session, entry, text)), "edit a message")

    def move(self, entry: int, place: int) -> None:
        session = self._session
        self._tasks.start(self._bridge.ask(lambda engine: engine.queue.move(session, entry, place)), "move a message")

    def send_now(self, entry: int) -> None:
        session = self._session
        self._tasks.start(self._bridge.ask(lambda engine: engine.queue.send_now(session, entry)), "send now")

    def remove(self, entry: int) -> None:
        session = self._session

        async def remove() -> None:
            place = await self._bridge.ask(lambda engine: engine.queue.remove(session, entry))

            def undo() -> None:
                back = self._bridge.ask(lambda engine: engine.queue.put_back(session, entry, place))
                self._tasks.start(back, "put a message back")

            self._window.toast.say(self.tr("The message was taken back."), undo)

        self._tasks.start(remove(), "take a message back")
