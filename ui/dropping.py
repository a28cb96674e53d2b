"""What is dragged onto the window: in a folder a run may begin, transcripts of other agents are opened."""

from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QWidget

ENDS = (".jsonl", ".json", ".traj", ".eval", ".db")


class FolderDrop(QObject):
    dropped = Signal(str)
    files_dropped = Signal(list)

    def __init__(self, on: QWidget) -> None:
        super().__init__(on)
        on.setAcceptDrops(True)
        on.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QDragEnterEvent) and (folder_in(event.mimeData()) or files_in(event.mimeData())):
            event.acceptProposedAction()
            return True
        if isinstance(event, QDropEvent) and event.type() == QEvent.Type.Drop and (name := folder_in(event.mimeData())):
            event.acceptProposedAction()
            self.dropped.emit(name)
            return True
        if isinstance(event, QDropEvent) and event.type() == QEvent.Type.Drop and (names := files_in(event.mimeData())):
            event.acceptProposedAction()
            self.files_dropped.emit(names)
            return True
        return False


def folder_in(data: QMimeData) -> str:
    """The one folder of this computer that is carried; empty for anything else."""
    names = [url.toLocalFile() for url in data.urls() if url.isLocalFile()]
    return names[0] if len(names) == 1 and Path(names[0]).is_dir() else ""


def files_in(data: QMimeData) -> list[str]:
    """The files of this computer that may be transcripts; none where something else is among them."""
    names = [url.toLocalFile() for url in data.urls()]
    fit = all(url.isLocalFile() for url in data.urls()) and all(name.endswith(ENDS) for name in names)
    return names if fit and all(Path(name).is_file() for name in names) else []
