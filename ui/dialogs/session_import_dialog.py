"""The dialog that imports sessions of other agents, either found on this computer or chosen as files."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import QItemSelectionModel, QSize, Qt, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QFileDialog,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QProgressBar,
    QVBoxLayout,
    QWidget,
)

from ui.base.drop_filter import TRANSCRIPT_SUFFIXES
from ui.style.number_formats import size as size_words
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.announce import announce
from ui.widgets.button import Button
from ui.widgets.dialog_parts import click_on_ctrl_enter, resize_in_screen
from ui.widgets.labels import allow_breaks, error_text, label
from ui.widgets.tooltip import tooltip_text


class FoundTranscript(NamedTuple):
    """A transcript of another agent; `changed` is its modification time in seconds since the epoch."""

    agent: str
    path: str
    size: int
    changed: float


class SessionImportDialog(QDialog):
    """Lets the user import sessions.

    The import controller finds and imports the transcripts, and reports the progress.
    """

    import_requested = Signal(list)  # paths of the transcripts

    def __init__(self, look: Look, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("import")
        self.setWindowTitle(self.tr("Import sessions from other agents"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(8)
        column.addWidget(label(self.tr("Import sessions from other agents"), look.fonts.title, name="import.title"))
        text = self.tr("Select the sessions to import. Nothing is run, and the original files are not changed.")
        column.addWidget(label(text, look.fonts.second, "second", wrap=True))
        self._list = QListWidget()
        self._list.setObjectName("import.list")
        self._list.setAccessibleName(self.tr("Sessions of other agents on this computer"))
        self._list.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self._list.setFont(look.fonts.text)
        self._list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._list.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self._row_height = 2 * self._list.fontMetrics().lineSpacing() + 14
        self._list.itemSelectionChanged.connect(self._count)
        self._list.itemActivated.connect(lambda _: self._import_selected())
        column.addWidget(self._list, 1)
        self._message_is_of_import = False  # if true, the message about the end of the search does not replace it
        self._message = label(self.tr("Searching…"), look.fonts.second, "second", name="import.said", wrap=True)
        self._bar = QProgressBar()
        self._bar.setObjectName("import.progress")
        self._bar.setAccessibleName(self.tr("Progress"))
        self._bar.setTextVisible(False)
        self._bar.hide()
        column.addWidget(self._message)
        column.addWidget(self._bar)
        files = self._files = Button(look, self.tr("Choose files…"), name="import.files", icon="folder-open")
        files.clicked.connect(self._choose)
        cancel = Button(look, self.tr("Cancel"), name="import.cancel")
        cancel.clicked.connect(self.reject)
        self._go = Button(look, self.tr("Import"), name="import.go", tone="primary")
        self._go.setEnabled(False)
        self._go.clicked.connect(self._import_selected)
        click_on_ctrl_enter(self, self._go)
        row = QHBoxLayout()
        row.addWidget(files)
        row.addStretch(1)
        row.addWidget(cancel)
        row.addWidget(self._go)
        column.addLayout(row)
        resize_in_screen(self, look.size(640), look.size(460))
        self._list.setFocus()

    def show_found(self, transcripts: Sequence[FoundTranscript]) -> None:
        """List the transcripts that were found, which are sorted newest first."""
        for transcript in transcripts:
            modified = datetime.fromtimestamp(transcript.changed).astimezone().strftime("%Y-%m-%d %H:%M")
            parts = Path(transcript.path).parts
            details = f"{transcript.agent} · {modified} · {size_words(transcript.size)} · {visible(parts[-2])}"
            item = QListWidgetItem(f"{visible(parts[-1])}\n{details}")
            item.setData(Qt.ItemDataRole.UserRole, transcript.path)
            item.setToolTip(tooltip_text(transcript.path))
            # Limits the width to that of the list, so that long titles are elided.
            item.setSizeHint(QSize(0, self._row_height))
            self._list.addItem(item)
        if transcripts and self._list.currentRow() < 0:  # so that the Space key selects the first transcript
            self._list.setCurrentRow(0, QItemSelectionModel.SelectionFlag.NoUpdate)
        empty_text = self.tr("No sessions of other agents were found in their usual locations. Choose files instead.")
        if not self._message_is_of_import:
            self._message.setText("" if transcripts else empty_text)
        if not transcripts:
            announce(self, empty_text)
            if self._list.hasFocus():
                self._files.setFocus(Qt.FocusReason.OtherFocusReason)

    def show_titles(self, first: int, titles: Sequence[str]) -> None:
        """Replace file names by the titles of the transcripts, beginning at position `first`."""
        for position, title in enumerate(titles, first):
            if title:
                item = self._list.item(position)
                item.setText(f"{' '.join(visible(title).split())}\n{item.text().partition(chr(10))[2]}")

    def show_progress(self, text: str, done: int, size: int) -> None:
        self._message_is_of_import = True
        self._message.setText(allow_breaks(text))
        self._bar.setRange(0, max(1, size // 1024))
        self._bar.setValue(done // 1024)

    def show_error(self, message: str) -> None:
        self._bar.hide()
        self._message_is_of_import = True
        self._message.setText(error_text(message))
        if message:
            announce(self._message, message)
        self._count()

    def _count(self) -> None:
        self._go.setEnabled(bool(self._list.selectedItems()))

    def _import_selected(self) -> None:
        self._request_import([item.data(Qt.ItemDataRole.UserRole) for item in self._list.selectedItems()])

    def _request_import(self, paths: list[str]) -> None:
        if paths:
            self._go.setEnabled(False)
            self._bar.show()
            self.import_requested.emit(paths)

    def _choose(self) -> None:
        dialog = QFileDialog(self, self.tr("Import sessions"), str(Path.home()))
        dialog.setObjectName("import.choice")
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        patterns = " ".join(f"*{suffix}" for suffix in TRANSCRIPT_SUFFIXES)
        dialog.setNameFilters([self.tr("Sessions ({})").format(patterns), self.tr("All files (*)")])
        dialog.setOption(QFileDialog.Option.DontUseNativeDialog)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.filesSelected.connect(self._request_import)
        dialog.open()
