"""What goes along with a message: files and pictures, each with the button that takes it off again."""

import mimetypes
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Final

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QMimeData, Signal
from PySide6.QtGui import QImage, QImageWriter
from PySide6.QtWidgets import QHBoxLayout, QWidget

from core.timeline.difference import is_text
from ui.draft_files import File
from ui.figures import size
from ui.theme import Look
from ui.visible import visible
from ui.widgets.announce import announce
from ui.widgets.button import Button
from ui.widgets.words import label

LARGEST: Final = 20 << 20
MOST: Final = 10
AS_WORDS: Final = ("image/svg+xml", "text/vnd.trolltech.linguist")


class AttachedFiles(QWidget):
    """A line of them above the words; nothing where there is none."""

    changed = Signal()
    refused = Signal(str, str)  # what, why

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._look = look
        self._files: list[File] = []
        self.setObjectName("composer.attached")
        self.setAccessibleName(self.tr("Attached"))
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(6)
        self.hide()

    def files(self) -> tuple[File, ...]:
        return tuple(self._files)

    def take(self) -> tuple[File, ...]:
        """They go with a message now."""
        taken = self.files()
        self._show([])
        return taken

    def put_back(self, files: Sequence[File]) -> None:
        """What could not be sent."""
        self._show([*files, *self._files])

    def add_paths(self, paths: Sequence[str]) -> None:
        found = [file for path in paths if (file := self._read(Path(path)))]
        self._add(found)

    def add_given(self, data: QMimeData) -> None:
        """Pasted or dropped."""
        paths = [url.toLocalFile() for url in data.urls() if url.isLocalFile()]
        if paths:
            self.add_paths(paths)
        elif data.hasImage():
            self._add([_picture(QImage(data.imageData()), self._free_name())])

    def restyle(self, look: Look) -> None:
        self._look = look
        self._show(self._files)

    def _add(self, files: list[File]) -> None:
        kept = [file for file in files if file not in self._files]
        if len(self._files) + len(kept) > MOST:
            self.refused.emit(self.tr("Not all files were attached."), self.tr("A message takes {}.").format(MOST))
        self._show([*self._files, *kept][:MOST])
        if kept:
            announce(self, self.tr("Attached: {}").format(", ".join(file.name for file in kept)))

    def _free_name(self) -> str:
        """Of a pasted picture: others may have been taken off."""
        taken = {file.name for file in self._files}
        return next(name for number in count(len(self._files) + 1) if (name := f"picture-{number}.png") not in taken)

    def _read(self, path: Path) -> File | None:
        """An ordinary file of a size that models take."""
        try:
            if not path.is_file():
                folder = self.tr("It is a folder: attach files of it, or name it in your words.")
                why = folder if path.is_dir() else self.tr("It is no ordinary file.")
                self.refused.emit(self.tr("{} was not attached.").format(path.name), why)
                return None
            if path.stat().st_size > LARGEST:
                why = self.tr("It has {}; at most {} can be sent.").format(size(path.stat().st_size), size(LARGEST))
                self.refused.emit(self.tr("{} was not attached.").format(path.name), why)
                return None
            body = path.read_bytes()
            return File(path.name, _media_type(path, body), body)
        except OSError as error:
            self.refused.emit(self.tr("{} was not attached.").format(path.name), f"{error.strerror or error}.")
            return None

    def _show(self, files: Sequence[File]) -> None:
        self._files = list(files)
        while (item := self._row.takeAt(0)) is not None:
            if part := item.widget():
                part.hide()
                part.deleteLater()
        for number, file in enumerate(self._files):
            self._row.addWidget(self._chip(number, file))
        self._row.addStretch(1)
        self.setVisible(bool(self._files))
        self.changed.emit()

    def _chip(self, number: int, file: File) -> QWidget:
        made = QWidget()
        row = QHBoxLayout(made)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(2)
        row.addWidget(label(f"{visible(file.name)[:40]} · {size(len(file.body))}", self._look.fonts.second, "badge"))
        off = Button(self._look, "", name=f"composer.attached.{number + 1}.remove", tone="quiet", icon="x")
        off.setAccessibleName(self.tr("Take {} off").format(file.name))
        off.clicked.connect(lambda: self._show([each for each in self._files if each is not file]))
        row.addWidget(off)
        return made


def _media_type(path: Path, body: bytes) -> str:
    """Words are sent as words, whatever else the ending stands for: `.ts` is a film too, and `.sh` a program."""
    found = mimetypes.guess_type(path.name)[0] or ""
    if found == "application/pdf" or (found.startswith(("image/", "text/")) and found not in AS_WORDS):
        return found
    return "text/plain" if is_text(body) else found or "application/octet-stream"


def _picture(image: QImage, name: str) -> File:
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    QImageWriter(buffer, QByteArray(b"png")).write(image)
    return File(name, "image/png", bytes(buffer.data().data()))
