"""Opens files of a session in the user's editor, and the session's folder in the editor or a terminal."""

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from ui.base.bridge import Bridge
from ui.base.tasks import SessionTasks
from ui.controllers.answer_images import AnswerImageController
from ui.shell.main_window import MainWindow
from ui.shell.session_view import SessionView
from ui.text.answer_images import image_of_link
from ui.text.file_links import file_of_link
from ui.widgets.link_dialog import LinkDialog

if TYPE_CHECKING:
    from core.engine.api.engine import Engine


class OpenFileController(QObject):
    """Opens the links that the user clicks in one session view: to files in the folder, and to web pages."""

    def __init__(self, window: MainWindow, view: SessionView, bridge: Bridge, tasks: SessionTasks) -> None:
        super().__init__(view)
        self._window = window
        self._view = view
        self._bridge = bridge
        self._tasks = tasks
        view.page.link_clicked.connect(self.open_link)
        view.page.file_requested.connect(self.open_file)
        view.changes.open_requested.connect(self.open_file)
        self.images = AnswerImageController(window, view, bridge, tasks)

    def open_link(self, address: str) -> None:
        """Open a link. For anything but a file in the folder, first show the full address and ask."""
        if image := image_of_link(address):
            self.images.open_image(image)
        elif file := file_of_link(address):
            self.open_file(file.path, file.line)
        else:
            LinkDialog(self._window.look, address, self._window).open()

    def open_file(self, path: str, line: int) -> None:
        """Open a file in the editor. Files outside of the session's folder are refused."""
        folder = Path(self._window.row(self._view.session).folder)

        async def show() -> None:
            name = await self._bridge.ask(partial(_open_file, folder, path, line))
            self._window.toast.show_message(self.tr("Opened in {}").format(name))

        self._tasks.start(show(), "open a file")


async def _open_file(folder: Path, path: str, line: int, engine: "Engine") -> str:
    from core.workspace.editors import open_file

    return await asyncio.to_thread(open_file, folder, path, line, engine.settings.current.editor)


async def open_folder_in_editor(folder: Path, engine: "Engine") -> str:
    """Open a folder in the editor, and return the name of the editor. Called on the engine's thread."""
    from core.workspace.editors import open_folder

    return await asyncio.to_thread(open_folder, folder, engine.settings.current.editor)


async def open_terminal_in(folder: Path, _engine: "Engine") -> None:
    """Open a terminal in a folder. Called on the engine's thread."""
    from core.workspace.editors import open_terminal

    await asyncio.to_thread(open_terminal, folder)


async def find_folder(folder: Path, _engine: "Engine") -> Path:
    """Return a folder that can be opened. Raise Problem if it is not a folder on this computer.

    Called on the engine's thread.
    """
    from core.workspace.editors import existing_folder

    return await asyncio.to_thread(existing_folder, folder)
