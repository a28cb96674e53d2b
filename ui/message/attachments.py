"""The files and pictures attached to a message, each with a button that removes it."""

import mimetypes
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Final

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QMimeData, Qt, Signal
from PySide6.QtGui import QFontMetrics, QImage, QImageWriter
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from core.domain.message_files import AttachedFile
from core.timeline.text_diff import is_text
from ui.style.number_formats import size
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.announce import announce
from ui.widgets.button import Button
from ui.widgets.flow_layout import FlowLayout
from ui.widgets.labels import label
from ui.widgets.tooltip import tooltip_text

MAX_BYTES: Final = 20 << 20
MAX_FILES: Final = 10
MAX_NAME_WIDTH: Final = 150  # pixels; a longer name is elided in the middle
TEXT_TYPES: Final = ("image/svg+xml", "text/vnd.trolltech.linguist")


class AttachmentBar(QWidget):
    """A row of attachments above the message field, hidden while it is empty."""

    changed = Signal()
    rejected = Signal(str, str)  # the error and its cause

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._look = look
        self._files: list[AttachedFile] = []
        self.setObjectName("composer.attached")
        self.setAccessibleName(self.tr("Attached files"))
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self._row = FlowLayout(self)
        self.hide()

    def files(self) -> tuple[AttachedFile, ...]:
        return tuple(self._files)

    def take(self) -> tuple[AttachedFile, ...]:
        """Return the attachments and clear the row, because the message is being sent."""
        files = self.files()
        self._show([])
        return files

    def restore(self, files: Sequence[AttachedFile]) -> None:
        """Insert attachments of a message that could not be sent, before the current ones."""
        self._show([*files, *self._files])

    def add_paths(self, paths: Sequence[str]) -> None:
        files = [file for path in paths if (file := self._read(Path(path)))]
        self._add(files)

    def add_mime_data(self, data: QMimeData) -> None:
        """Attach the files or the picture that were pasted or dropped."""
        paths = [url.toLocalFile() for url in data.urls() if url.isLocalFile()]
        if paths:
            self.add_paths(paths)
        elif data.hasImage():
            self._add([_png_attachment(QImage(data.imageData()), self._free_name())])

    def restyle(self, look: Look) -> None:
        self._look = look
        self._show(self._files)

    def _add(self, files: list[AttachedFile]) -> None:
        new_files = [file for file in files if file not in self._files]
        if len(self._files) + len(new_files) > MAX_FILES:
            self.rejected.emit(
                self.tr("Not all files were attached."),
                self.tr("A message can have at most {} attachments.").format(MAX_FILES),
            )
        self._show([*self._files, *new_files][:MAX_FILES])
        if new_files:
            announce(self, self.tr("Attached: {}").format(", ".join(file.name for file in new_files)))

    def _free_name(self) -> str:
        """Return an unused name for a pasted picture.

        The number of pictures is not enough, because one may have been removed.
        """
        used_names = {file.name for file in self._files}
        names = (f"picture-{number}.png" for number in count(len(self._files) + 1))
        return next(name for name in names if name not in used_names)

    def _read(self, path: Path) -> AttachedFile | None:
        """Read a file. If it is not a regular file, or too large, emit `rejected` and return None."""
        try:
            if not path.is_file():
                folder = self.tr("It is a folder. Attach files from it, or mention the folder in your message.")
                why = folder if path.is_dir() else self.tr("It is not a regular file.")
                self.rejected.emit(self.tr("{} was not attached.").format(path.name), why)
                return None
            if path.stat().st_size > MAX_BYTES:
                why = self.tr("The file has {}; the limit is {}.").format(size(path.stat().st_size), size(MAX_BYTES))
                self.rejected.emit(self.tr("{} was not attached.").format(path.name), why)
                return None
            body = path.read_bytes()
            return AttachedFile(path.name, _media_type(path, body), body)
        except OSError as error:
            self.rejected.emit(self.tr("{} was not attached.").format(path.name), f"{error.strerror or error}.")
            return None

    def _show(self, files: Sequence[AttachedFile]) -> None:
        self._files = list(files)
        while (item := self._row.takeAt(0)) is not None:
            if widget := item.widget():
                widget.hide()
                widget.deleteLater()
        for number, file in enumerate(self._files):
            chip = self._create_chip(number, file)
            self._row.addWidget(chip)
            chip.show()
        self.setVisible(bool(self._files))
        self.changed.emit()

    def _create_chip(self, number: int, file: AttachedFile) -> QWidget:
        chip = QWidget()
        row = QHBoxLayout(chip)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(2)
        name = visible(file.name)
        shown = QFontMetrics(self._look.fonts.second).elidedText(
            name, Qt.TextElideMode.ElideMiddle, self._look.size(MAX_NAME_WIDTH)
        )
        text = label(f"{shown} · {size(len(file.body))}", self._look.fonts.second, "badge")
        text.setToolTip(tooltip_text(name))
        row.addWidget(text)
        remove_button = Button(self._look, "", name=f"composer.attached.{number + 1}.remove", tone="quiet", icon="x")
        remove_button.setAccessibleName(self.tr("Remove {}").format(file.name))
        remove_button.clicked.connect(lambda: self._show([other for other in self._files if other is not file]))
        row.addWidget(remove_button)
        return chip


def _media_type(path: Path, body: bytes) -> str:
    """Return the media type of a file.

    A file with text counts as text whatever its suffix is, because `.ts` is also a video format.
    """
    guessed_type = mimetypes.guess_type(path.name)[0] or ""
    is_image_or_text = guessed_type.startswith(("image/", "text/"))
    if guessed_type == "application/pdf" or (is_image_or_text and guessed_type not in TEXT_TYPES):
        return guessed_type
    return "text/plain" if is_text(body) else guessed_type or "application/octet-stream"


def _png_attachment(image: QImage, name: str) -> AttachedFile:
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    QImageWriter(buffer, QByteArray(b"png")).write(image)
    return AttachedFile(name, "image/png", bytes(buffer.data().data()))
