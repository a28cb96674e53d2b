"""Drag and drop onto the window: a folder starts a session, transcripts of other agents are imported."""

from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QWidget

SUFFIXES = (".jsonl", ".json", ".traj", ".eval", ".db")


class DropFilter(QObject):
    """Event filter that accepts a single local folder or a set of transcript files."""

    dropped = Signal(str)
    files_dropped = Signal(list)

    def __init__(self, on: QWidget) -> None:
        super().__init__(on)
        on.setAcceptDrops(True)
        on.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QDragEnterEvent) and (dragged_folder(event.mimeData()) or dragged_files(event.mimeData())):
            event.acceptProposedAction()
            return True
        if (
            isinstance(event, QDropEvent)
            and event.type() == QEvent.Type.Drop
            and (name := dragged_folder(event.mimeData()))
        ):
            event.acceptProposedAction()
            self.dropped.emit(name)
            return True
        if (
            isinstance(event, QDropEvent)
            and event.type() == QEvent.Type.Drop
            and (names := dragged_files(event.mimeData()))
        ):
            event.acceptProposedAction()
            self.files_dropped.emit(names)
            return True
        return False


def dragged_folder(data: QMimeData) -> str:
    """Return the single local folder being dragged; an empty string for anything else."""
    names = [url.toLocalFile() for url in data.urls() if url.isLocalFile()]
    return names[0] if len(names) == 1 and Path(names[0]).is_dir() else ""


def dragged_files(data: QMimeData) -> list[str]:
    """Return the local files being dragged if all of them have a transcript suffix; an empty list otherwise."""
    names = [url.toLocalFile() for url in data.urls()]
    fit = all(url.isLocalFile() for url in data.urls()) and all(name.endswith(SUFFIXES) for name in names)
    return names if fit and all(Path(name).is_file() for name in names) else []
