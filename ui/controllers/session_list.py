"""Carries out actions on sessions in the list, such as pin, archive, trash or fork. A toast confirms each and can undo
it.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QCoreApplication, QUrl
from PySide6.QtGui import QDesktopServices

from ui.base.bridge import Bridge
from ui.base.tasks import Tasks
from ui.controllers.open_files import find_folder, open_folder_in_editor, open_terminal_in
from ui.controllers.replays import ReplayController
from ui.controllers.session_export import ExportController
from ui.controllers.session_import import ImportController
from ui.sessions.session_menu import SessionAction
from ui.shell.main_window import MainWindow
from ui.widgets.confirm_dialog import ConfirmDialog

if TYPE_CHECKING:
    from core.engine.api.engine import Engine

OPPOSITE: Final = {
    SessionAction.PIN: SessionAction.UNPIN,
    SessionAction.UNPIN: SessionAction.PIN,
    SessionAction.ARCHIVE: SessionAction.UNARCHIVE,
    SessionAction.UNARCHIVE: SessionAction.ARCHIVE,
    SessionAction.TRASH: SessionAction.RESTORE,
    SessionAction.RESTORE: SessionAction.TRASH,
}


class SessionListController:
    """Carries out the actions. Only permanent deletion asks for confirmation, because it cannot be undone."""

    def __init__(
        self,
        window: MainWindow,
        bridge: Bridge,
        tasks: Tasks,
        exports: ExportController,
        imports: ImportController,
        replays: ReplayController,
    ) -> None:
        self._window = window
        self._bridge = bridge
        self._tasks = tasks
        self._exports = exports
        self._imports = imports
        self._replays = replays
        window.sessions.action_requested.connect(self._run_action)

    def _run_action(self, action: str, sessions: Sequence[str]) -> None:
        match SessionAction(action):
            case (
                SessionAction.PIN
                | SessionAction.UNPIN
                | SessionAction.ARCHIVE
                | SessionAction.UNARCHIVE
                | SessionAction.TRASH
                | SessionAction.RESTORE
            ) as change:
                self._tasks.start(self._run_and_toast(change, sessions), change)
            case SessionAction.DELETE:
                self._confirm_deletion(sessions)
            case SessionAction.EMPTY_TRASH:
                self._confirm_deletion(None)
            case SessionAction.FORK:
                self._tasks.start(self._fork(sessions[0]), "fork")
            case SessionAction.REPLAY:
                self._replays.open(sessions[0])
            case SessionAction.EXPORT:
                self._exports.export(sessions[0])
            case SessionAction.IMPORT:
                self._imports.open()
            case SessionAction.OPEN_FOLDER:
                self._tasks.start(self._show_folder(sessions[0]), "open a folder")
            case SessionAction.OPEN_EDITOR:
                self._tasks.start(self._open_editor(sessions[0]), "open a folder in the editor")
            case SessionAction.OPEN_TERMINAL:
                self._tasks.start(self._open_terminal(sessions[0]), "open a terminal")

    async def _run_and_toast(self, action: SessionAction, sessions: Sequence[str], *, quiet: bool = False) -> None:
        if action == SessionAction.TRASH:
            self._select_neighbor(sessions)
        changed = await self._bridge.ask(partial(_apply_action, action, tuple(sessions)))
        if changed and not quiet:

            def undo() -> asyncio.Task[bool]:
                return self._tasks.start(self._run_and_toast(OPPOSITE[action], changed, quiet=True), f"undo: {action}")

            self._window.toast.show_message(_toast_text(action, len(changed)), undo)

    def _select_neighbor(self, sessions: Sequence[str]) -> None:
        """Select a neighboring session if the current one is about to be moved to the trash."""
        selection = self._window.selection
        if selection.session in sessions:
            selection.choose_session(self._window.sessions.neighbor(selection.session))

    async def _fork(self, session: str) -> None:
        self._window.show_session(await self._bridge.ask(lambda engine: engine.history.fork(session)))

    async def _show_folder(self, session: str) -> None:
        """Open the folder of a session in the file manager.

        Only a folder is opened: the path of an imported session could be that of a program, which would then be
        started.
        """
        folder = await self._bridge.ask(partial(find_folder, Path(self._window.row(session).folder)))
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))

    async def _open_editor(self, session: str) -> None:
        """Open the folder of a session in the editor."""
        folder = Path(self._window.row(session).folder)
        name = await self._bridge.ask(partial(open_folder_in_editor, folder))
        self._window.toast.show_message(_tr("Opened in {}").format(name))

    async def _open_terminal(self, session: str) -> None:
        """Open a terminal in the folder of a session."""
        await self._bridge.ask(partial(open_terminal_in, Path(self._window.row(session).folder)))

    def _confirm_deletion(self, sessions: Sequence[str] | None) -> None:
        """Ask whether to delete these sessions or, if there are none, everything in the trash."""
        title = _tr("Delete permanently?") if sessions else _tr("Empty the trash?")
        text = _tr("All messages and steps are deleted. This cannot be undone. Files in your folders are kept.")

        def delete() -> None:
            self._tasks.start(self._delete(sessions), "empty the trash")

        ConfirmDialog(self._window.look, title, text, _tr("Delete permanently"), delete, self._window).open()

    async def _delete(self, sessions: Sequence[str] | None) -> None:
        deleted = await self._bridge.ask(lambda engine: engine.archive.empty_trash(sessions))
        count = len(deleted)
        message = _tr("Deleted 1 session.") if count == 1 else _tr("Deleted {} sessions.").format(count)
        self._window.toast.show_message(message)


async def _apply_action(action: SessionAction, sessions: tuple[str, ...], engine: "Engine") -> tuple[str, ...]:
    """Apply an action, and return the sessions that it has changed. Called on the engine's thread."""
    archive = engine.archive
    match action:
        case SessionAction.PIN:
            return await archive.pin(sessions)
        case SessionAction.UNPIN:
            return await archive.pin(sessions, on=False)
        case SessionAction.ARCHIVE:
            return await archive.archive(sessions)
        case SessionAction.UNARCHIVE:
            return await archive.archive(sessions, on=False)
        case SessionAction.TRASH:
            return await archive.trash(sessions)
        case SessionAction.RESTORE:
            return await archive.restore(sessions)
        case _:
            raise ValueError(action)


def _toast_text(action: SessionAction, count: int) -> str:
    message = {
        SessionAction.PIN: _tr("Pinned"),
        SessionAction.UNPIN: _tr("Unpinned"),
        SessionAction.ARCHIVE: _tr("Archived"),
        SessionAction.UNARCHIVE: _tr("Unarchived"),
        SessionAction.TRASH: _tr("Moved to the trash"),
        SessionAction.RESTORE: _tr("Restored"),
    }[action]
    return message if count == 1 else _tr("{what}: {count} sessions").format(what=message, count=count)


def _tr(text: str) -> str:
    return QCoreApplication.translate("filing", text)
