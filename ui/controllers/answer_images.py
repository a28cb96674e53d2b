"""Loads the images in the answers of a session, and shows them in a dialog."""

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, QSize
from PySide6.QtGui import QImage

from core.domain.problems import Problem
from ui.base.bridge import Bridge
from ui.base.tasks import SessionTasks
from ui.dialogs.image_dialog import ImageDialog
from ui.shell.main_window import MainWindow
from ui.shell.session_view import SessionView
from ui.text.answer_images import AnswerImage, FileStamp, reduced
from ui.widgets.image_view import MAX_BYTES, decode_image

if TYPE_CHECKING:
    from core.engine.api.engine import Engine

IN_ANSWER: Final = QSize(1_600, 900)  # pixels; a larger image is scaled down, and loaded again in full for the dialog


class AnswerImageController(QObject):
    """Loads the images for one session view, and opens the image that the user clicks in a dialog."""

    def __init__(self, window: MainWindow, view: SessionView, bridge: Bridge, tasks: SessionTasks) -> None:
        super().__init__(view)
        self._window = window
        self._view = view
        self._bridge = bridge
        self._tasks = tasks
        view.page.images.requested.connect(self._load)

    def open_image(self, path: str) -> None:
        """Show an image from the session's folder in a dialog."""
        folder = Path(self._window.row(self._view.session).folder)

        async def show() -> None:
            loaded = await self._bridge.ask(partial(_load, folder, path, None, None))
            if loaded is None or loaded.error:
                raise Problem("The image cannot be shown.", loaded.error if loaded else "")
            dialog = ImageDialog(self._window.look, path, loaded.image, loaded.stamp.size, self._window)
            dialog.open_requested.connect(lambda: self._view.page.file_requested.emit(path, 0))
            dialog.open()

        self._tasks.start(show(), "open an image")

    def _load(self, path: str, known: FileStamp | None) -> None:
        """Load an image for the answers; for an imported session, load none, because its folder may be any folder."""
        session = self._view.session
        images = self._view.page.images
        row = self._window.row(session)

        async def load() -> None:
            loaded = await self._bridge.ask(partial(_load, Path(row.folder), path, known, IN_ANSWER))
            if loaded and self._view.session == session:
                images.deliver(path, loaded)

        if not row.imported_from:
            self._tasks.start(load(), "load an image")


async def _load(
    folder: Path, path: str, known: FileStamp | None, limit: QSize | None, _engine: "Engine"
) -> AnswerImage | None:
    return await asyncio.to_thread(load_image, folder, path, known, limit)


def load_image(folder: Path, path: str, known: FileStamp | None, limit: QSize | None) -> AnswerImage | None:
    """Read and decode an image in a folder, scaled down to `limit`.

    Return None if the file is still the `known` version.

    This takes up to a second for a large image. If the image cannot be loaded, the result contains an error for the
    user.
    """
    # Imported late, so that the start of the window does not wait for it.
    from core.workspace.broker import FileBroker

    stamp = FileStamp()
    try:
        with FileBroker(folder) as broker:
            real_path = broker.resolve(path)
            if not real_path.startswith("..") and (status := broker.stat(real_path)):
                stamp = FileStamp(status.st_mtime_ns, status.st_size)
            if stamp == known:
                return None
            body = broker.read(path, MAX_BYTES)
    except Problem as problem:
        return AnswerImage(stamp, QImage(), problem.details.message)
    except OSError as error:
        return AnswerImage(stamp, QImage(), f"The folder cannot be opened: {error.strerror}.")
    image = decode_image(body).image
    if image.isNull():
        return AnswerImage(stamp, QImage(), "The file is not an image that can be shown.")
    return AnswerImage(stamp, reduced(image, limit) if limit else image)
