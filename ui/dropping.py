"""A folder that is dragged onto the window: a run may begin there."""

from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QWidget


class FolderDrop(QObject):
    dropped = Signal(str)

    def __init__(self, on: QWidget) -> None:
        super().__init__(on)
        on.setAcceptDrops(True)
        on.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QDragEnterEvent) and folder_in(event.mimeData()):
            event.acceptProposedAction()
            return True
        if isinstance(event, QDropEvent) and event.type() == QEvent.Type.Drop and (name := folder_in(event.mimeData())):
            event.acceptProposedAction()
            self.dropped.emit(name)
            return True
        return False


def folder_in(data: QMimeData) -> str:
    """The one folder of this computer that is carried; empty for anything else."""
    names = [url.toLocalFile() for url in data.urls() if url.isLocalFile()]
    return names[0] if len(names) == 1 and Path(names[0]).is_dir() else ""
