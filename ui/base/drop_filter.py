"""Drag and drop onto the window: a folder starts a session, transcripts are imported, and model files are added."""

from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QWidget

MODEL_SUFFIX = ".gguf"
TRANSCRIPT_SUFFIXES = (".jsonl", ".json", ".traj", ".eval", ".db", ".zip", ".gz", ".zst", ".aider.chat.history.md")


class DropFilter(QObject):
    """An event filter that lets a widget accept one local folder, several transcript files, or several model files."""

    folder_dropped = Signal(str)
    files_dropped = Signal(list)
    models_dropped = Signal(list)

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        widget.setAcceptDrops(True)
        widget.installEventFilter(self)

    def _handle_drop(self, data: QMimeData) -> bool:
        """Emit the signal for what was dropped; return whether it is accepted."""
        if folder := dragged_folder(data):
            self.folder_dropped.emit(folder)
        elif files := dragged_files(data):
            self.files_dropped.emit(files)
        elif model_files := dragged_model_files(data):
            self.models_dropped.emit(model_files)
        else:
            return False
        return True

    # Overridden Qt methods

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QDragEnterEvent):
            is_accepted = _is_accepted(event.mimeData())
        elif isinstance(event, QDropEvent) and event.type() == QEvent.Type.Drop:
            is_accepted = self._handle_drop(event.mimeData())
        else:
            return False
        if is_accepted:
            event.acceptProposedAction()
        return is_accepted


def _is_accepted(data: QMimeData) -> bool:
    return bool(dragged_folder(data) or dragged_files(data) or dragged_model_files(data))


def dragged_folder(data: QMimeData) -> str:
    """Return the dragged folder; "" if anything but a single local folder is dragged."""
    paths = [url.toLocalFile() for url in data.urls() if url.isLocalFile()]
    return paths[0] if len(paths) == 1 and Path(paths[0]).is_dir() else ""


def dragged_files(data: QMimeData) -> list[str]:
    """Return the dragged local files if all of them have the suffix of a transcript; otherwise, an empty list."""
    return _files_ending_with(data, TRANSCRIPT_SUFFIXES)


def dragged_model_files(data: QMimeData) -> list[str]:
    """Return the dragged local files if all of them are model files; otherwise, an empty list."""
    return _files_ending_with(data, (MODEL_SUFFIX,))


def _files_ending_with(data: QMimeData, suffixes: tuple[str, ...]) -> list[str]:
    """Return the dragged paths if each of them is a local file with one of the suffixes; otherwise, an empty list."""
    paths: list[str] = []
    for url in data.urls():
        path = url.toLocalFile()
        if not (url.isLocalFile() and path.lower().endswith(suffixes) and Path(path).is_file()):
            return []
        paths.append(path)
    return paths
