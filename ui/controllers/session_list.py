"""Actions on sessions in the list (pin, archive, trash, fork, …), confirmed in a toast that can undo them."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QCoreApplication, QUrl
from PySide6.QtGui import QDesktopServices

from ui.base.bridge import Bridge
from ui.base.tasks import Tasks
from ui.controllers.open_files import open_folder_in_editor, open_terminal_in
from ui.shell.main_window import MainWindow
from ui.widgets.confirm_dialog import ConfirmDialog

if TYPE_CHECKING:
    from core.engine.api.engine import Engine

OPPOSITE: Final = {
    "pin": "unpin",
    "unpin": "pin",
    "archive": "unarchive",
    "unarchive": "archive",
    "trash": "restore",
    "restore": "trash",
}


class SessionListController:
    """Runs the actions; only permanent deletion asks for confirmation, because it cannot be undone."""

    def __init__(self, window: MainWindow, bridge: Bridge, tasks: Tasks) -> None:
        self._window = window
        self._bridge = bridge
        self._tasks = tasks

    def run_action(self, action: str, sessions: Sequence[str]) -> None:
        if action in OPPOSITE:
            self._tasks.start(self._run_and_toast(action, sessions), action)
        elif action == "fork":
            self._tasks.start(self._fork(sessions[0]), action)
        elif action == "folder":
            self._show_folder(sessions[0])
        elif action in {"editor", "terminal"}:
            self._tasks.start(self._open_outside(action, sessions[0]), action)
        else:
            self._confirm(sessions if action == "forget" else None)

    async def _run_and_toast(self, action: str, sessions: Sequence[str], *, quiet: bool = False) -> None:
        if action == "trash":
            self._select_neighbor(sessions)
        changed = await self._bridge.ask(partial(_apply_action, action, tuple(sessions)))
        if changed and not quiet:

            def undo() -> None:
                self._tasks.start(self._run_and_toast(OPPOSITE[action], changed, quiet=True), f"undo: {action}")

            self._window.toast.show_message(_toast_text(action, len(changed)), undo)

    def _select_neighbor(self, sessions: Sequence[str]) -> None:
        """Select a neighboring session if the current one is moved to the trash."""
        selection = self._window.selection
        if selection.session in sessions:
            selection.choose_session(self._window.sessions.neighbor(selection.session))

    async def _fork(self, session: str) -> None:
        self._window.show_session(await self._bridge.ask(lambda engine: engine.history.fork(session)))

    def _show_folder(self, session: str) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(self._window.row(session).folder))

    async def _open_outside(self, action: str, session: str) -> None:
        """Open the folder of a session in the editor, or a terminal in it."""
        folder = Path(self._window.row(session).folder)
        if action == "editor":
            name = await self._bridge.ask(partial(open_folder_in_editor, folder))
            self._window.toast.show_message(_tr("Opened in {}").format(name))
        else:
            await self._bridge.ask(partial(open_terminal_in, folder))

    def _confirm(self, sessions: Sequence[str] | None) -> None:
        title = _tr("Delete permanently?") if sessions else _tr("Empty the trash?")
        text = _tr("All messages and steps are deleted. This cannot be undone. Files in your folders are kept.")

        def act() -> None:
            self._tasks.start(self._empty(sessions), "empty the trash")

        ConfirmDialog(self._window.look, title, text, _tr("Delete permanently"), act, self._window).open()

    async def _empty(self, sessions: Sequence[str] | None) -> None:
        deleted = await self._bridge.ask(lambda engine: engine.archive.empty_trash(sessions))
        count = len(deleted)
        message = _tr("Deleted 1 session.") if count == 1 else _tr("Deleted {} sessions.").format(count)
        self._window.toast.show_message(message)


async def _apply_action(action: str, sessions: tuple[str, ...], engine: "Engine") -> tuple[str, ...]:
    """Apply an action, in the engine's thread; return the sessions that it changed."""
    archive = engine.archive
    actions = {
        "pin": partial(archive.pin, sessions),
        "unpin": partial(archive.pin, sessions, False),
        "archive": partial(archive.archive, sessions),
        "unarchive": partial(archive.archive, sessions, False),
        "trash": partial(archive.trash, sessions),
        "restore": partial(archive.restore, sessions),
    }
    return await actions[action]()


def _toast_text(action: str, count: int) -> str:
    message = {
        "pin": _tr("Pinned"),
        "unpin": _tr("Unpinned"),
        "archive": _tr("Archived"),
        "unarchive": _tr("Unarchived"),
        "trash": _tr("Moved to the trash"),
        "restore": _tr("Restored"),
    }[action]
    return message if count == 1 else _tr("{what}: {count} sessions").format(what=message, count=count)


def _tr(text: str) -> str:
    return QCoreApplication.translate("filing", text)
