"""Drag and drop onto the window: a folder starts a session, transcripts are imported, and model files are added."""

from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QWidget

MODEL_SUFFIX = ".gguf"
TRANSCRIPT_SUFFIXES = (".jsonl", ".json", ".traj", ".eval", ".db", ".zip", ".gz", ".zst", ".aider.chat.history.md")


class DropFilter(QObject):
    """An event filter that accepts one local folder, or several transcript files, or several model files."""

    dropped = Signal(str)
    files_dropped = Signal(list)
    models_dropped = Signal(list)

    def __init__(self, on: QWidget) -> None:
        super().__init__(on)
        on.setAcceptDrops(True)
        on.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QDragEnterEvent) and _is_accepted(event.mimeData()):
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
        if (
            isinstance(event, QDropEvent)
            and event.type() == QEvent.Type.Drop
            and (names := dragged_model_files(event.mimeData()))
        ):
            event.acceptProposedAction()
            self.models_dropped.emit(names)
            return True
        return False


def _is_accepted(data: QMimeData) -> bool:
    return bool(dragged_folder(data) or dragged_files(data) or dragged_model_files(data))


def dragged_folder(data: QMimeData) -> str:
    """Return the dragged folder; "" if anything but a single local folder is dragged."""
    names = [url.toLocalFile() for url in data.urls() if url.isLocalFile()]
    return names[0] if len(names) == 1 and Path(names[0]).is_dir() else ""


def dragged_files(data: QMimeData) -> list[str]:
    """Return the dragged local files if all of them have the suffix of a transcript; otherwise, an empty list."""
    return _files_ending_with(data, TRANSCRIPT_SUFFIXES)


def dragged_model_files(data: QMimeData) -> list[str]:
    """Return the dragged local files if all of them are model files; otherwise, an empty list."""
    return _files_ending_with(data, (MODEL_SUFFIX,))


def _files_ending_with(data: QMimeData, suffixes: tuple[str, ...]) -> list[str]:
    names = [url.toLocalFile() for url in data.urls()]
    fit = all(url.isLocalFile() for url in data.urls()) and all(name.lower().endswith(suffixes) for name in names)
    return names if fit and all(Path(name).is_file() for name in names) else []
