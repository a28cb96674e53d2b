"""What is wished of sessions in the list: done by the engine, said at the foot, taken back from there."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QCoreApplication, QUrl
from PySide6.QtGui import QDesktopServices

from ui.bridge import Bridge
from ui.tasks import Tasks
from ui.widgets.confirm import Confirm
from ui.window import MainWindow

if TYPE_CHECKING:
    from core.engine.engine import Engine

OPPOSITE: Final = {
    "pin": "unpin",
    "unpin": "pin",
    "archive": "unarchive",
    "unarchive": "archive",
    "trash": "restore",
    "restore": "trash",
}


class Filing:
    """One wish after the other; only emptying the trash asks first, because nothing brings that back."""

    def __init__(self, window: MainWindow, bridge: Bridge, tasks: Tasks) -> None:
        self._window, self._bridge, self._tasks = window, bridge, tasks

    def do(self, word: str, sessions: Sequence[str]) -> None:
        if word in OPPOSITE:
            self._tasks.start(self._file(word, sessions), word)
        elif word == "fork":
            self._tasks.start(self._fork(sessions[0]), word)
        elif word == "folder":
            self._show_folder(sessions[0])
        else:
            self._confirm(sessions if word == "forget" else None)

    async def _file(self, word: str, sessions: Sequence[str], *, quiet: bool = False) -> None:
        if word == "trash":
            self._leave(sessions)
        changed = await self._bridge.ask(partial(_filed, word, tuple(sessions)))
        if changed and not quiet:

            def undo() -> None:
                self._tasks.start(self._file(OPPOSITE[word], changed, quiet=True), f"take back: {word}")

            self._window.toast.say(_said(word, len(changed)), undo)

    def _leave(self, sessions: Sequence[str]) -> None:
        """What is thrown away is not looked at any longer."""
        selection = self._window.selection
        if selection.session in sessions:
            selection.choose_session(self._window.sessions.neighbour(selection.session))

    async def _fork(self, session: str) -> None:
        self._window.go_to(await self._bridge.ask(lambda engine: engine.history.fork(session)))

    def _show_folder(self, session: str) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(self._window.row(session).folder))

    def _confirm(self, sessions: Sequence[str] | None) -> None:
        title = _tr("Delete for good?") if sessions else _tr("Empty the trash?")
        text = _tr("What was said and done there goes, and nothing brings it back. Files in your folders stay.")

        def act() -> None:
            self._tasks.start(self._empty(sessions), "empty the trash")

        Confirm(self._window.look, title, text, _tr("Delete for good"), act, self._window).open()

    async def _empty(self, sessions: Sequence[str] | None) -> None:
        gone = await self._bridge.ask(lambda engine: engine.shelf.empty(sessions))
        count = len(gone)
        words = _tr("1 session deleted for good.") if count == 1 else _tr("{} sessions deleted for good.").format(count)
        self._window.toast.say(words)


async def _filed(word: str, sessions: tuple[str, ...], engine: "Engine") -> tuple[str, ...]:
    """In the engine's thread; the sessions that this changed."""
    shelf = engine.shelf
    acts = {
        "pin": partial(shelf.pin, sessions),
        "unpin": partial(shelf.pin, sessions, False),
        "archive": partial(shelf.archive, sessions),
        "unarchive": partial(shelf.archive, sessions, False),
        "trash": partial(shelf.trash, sessions),
        "restore": partial(shelf.restore, sessions),
    }
    return await acts[word]()


def _said(word: str, count: int) -> str:
    one = {
        "pin": _tr("Pinned"),
        "unpin": _tr("Unpinned"),
        "archive": _tr("Archived"),
        "unarchive": _tr("Taken out of the archive"),
        "trash": _tr("Moved to the trash"),
        "restore": _tr("Put back"),
    }[word]
    return one if count == 1 else _tr("{what}: {count} sessions").format(what=one, count=count)


def _tr(text: str) -> str:
    return QCoreApplication.translate("filing", text)
