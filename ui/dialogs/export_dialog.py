"""The dialog that exports a session: format, secrets to remove, file, progress and result."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import (
    QDialog,
    QFileDialog,
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QProgressBar,
    QVBoxLayout,
    QWidget,
)

from ui.style.number_formats import size as size_words
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.check_box import CheckBox, RadioButton
from ui.widgets.dialog_parts import click_on_ctrl_enter, fit_to_content, grow_to_fit, show_form_error
from ui.widgets.labels import allow_breaks, label
from ui.widgets.radio_group import radio_group

MAX_NAME = 60


class ExportFormat(NamedTuple):
    """An export format: its name on the command line, title, purpose and file suffix."""

    id: str
    title: str
    about: str
    suffix: str


class ExportDialog(QDialog):
    """Exports a session. The export controller handles the signals, and reports results with the `show_…` methods."""

    export_requested = Signal(str, str, bool)  # format, path, and whether to keep secrets
    canceled = Signal()

    def __init__(self, look: Look, title: str, formats: Sequence[ExportFormat], folder: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._look = look
        self._formats = tuple(formats)
        self._path = ""
        self._stem = re.sub(r"[^\w.-]+", "-", visible(title).strip().lower())[:MAX_NAME].strip("-.") or "session"
        self.setObjectName("export")
        self.setWindowTitle(self.tr("Export session"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(8)
        column.addWidget(label(visible(title), look.fonts.title, name="export.title", wrap=True))
        choices = [
            RadioButton(
                look,
                f"{self.tr(export_format.title)}  ·  {self.tr(export_format.about)}",
                name=f"export.format.{export_format.id}",
            )
            for export_format in self._formats
        ]
        for choice in choices:
            column.addWidget(choice)
        self._kinds = radio_group(self, choices)
        self._kinds.button(0).setChecked(True)
        self._kinds.idToggled.connect(lambda index, checked: self._on_format_chosen(index) if checked else None)
        self._build_secrets(column)
        self._build_place(column, folder)
        self._build_end(column)
        self.setMinimumWidth(look.size(560))
        self._kinds.button(0).setFocus()
        fit_to_content(self)

    def show_secrets(self, summary: str, samples: Sequence[str]) -> None:
        """Show the result of the search for secrets.

        With samples, list them, and offer to keep the secrets in the export.
        """
        self._secrets_note.setText(summary)
        self._samples.setPlainText("\n".join(map(visible, samples)))
        self._samples.setVisible(bool(samples))
        self._keep.setVisible(bool(samples))
        grow_to_fit(self)

    def show_progress(self, done: int, total: int) -> None:
        self._bar.setRange(0, max(1, total))
        self._bar.setValue(done)

    def show_done(self, path: str, size: int, details: str) -> None:
        """Show that the file was written. `size` is in bytes."""
        self._path = path
        self._busy(False)
        text = self.tr("Exported to {path} ({size}). {more}").format(path=path, size=size_words(size), more=details)
        self._message.setText(allow_breaks(text))
        self._message.show()
        self._show.show()
        self._cancel.setText(self.tr("Close"))
        self._show.setFocus()
        grow_to_fit(self)

    def show_error(self, message: str) -> None:
        """Show why the file was not written. The user can change the input and try again."""
        self._busy(False)
        show_form_error(self, self._message, message)

    def _build_secrets(self, column: QVBoxLayout) -> None:
        fonts = self._look.fonts
        column.addSpacing(6)
        searching = self.tr("Searching for API keys and passwords…")
        self._secrets_note = label(searching, fonts.second, "second", name="export.found", wrap=True)
        self._samples = QPlainTextEdit()
        self._samples.setObjectName("export.samples")
        self._samples.setAccessibleName(self.tr("Secrets that will be removed"))
        self._samples.setReadOnly(True)
        self._samples.setFont(fonts.mono)
        self._samples.setFixedHeight(self._look.size(96))
        self._samples.hide()
        self._keep = CheckBox(self._look, self.tr("Keep these API keys and passwords in the file"), name="export.keep")
        self._keep.setToolTip(self.tr("Anyone who gets the file can use them"))
        self._keep.hide()
        for part in (self._secrets_note, self._samples, self._keep):
            column.addWidget(part)

    def _build_place(self, column: QVBoxLayout, folder: str) -> None:
        column.addSpacing(6)
        self._path_field = QLineEdit(str(Path(folder) / (self._stem + self._formats[0].suffix)))
        self._path_field.setObjectName("export.place")
        self._path_field.setAccessibleName(self.tr("File"))
        self._path_field.setFont(self._look.fonts.text)
        choose = Button(self._look, self.tr("Browse…"), name="export.choose")
        choose.clicked.connect(self._choose)
        row = QHBoxLayout()
        row.addWidget(self._path_field, 1)
        row.addWidget(choose)
        column.addLayout(row)

    def _build_end(self, column: QVBoxLayout) -> None:
        look = self._look
        self._bar = QProgressBar()
        self._bar.setObjectName("export.progress")
        self._bar.setAccessibleName(self.tr("Progress"))
        self._bar.setTextVisible(False)
        self._bar.hide()
        self._message = label("", look.fonts.second, "second", name="export.said", wrap=True)
        self._message.hide()
        self._show = Button(look, self.tr("Show in folder"), name="export.show", icon="folder-open")
        self._show.hide()
        self._cancel = Button(look, self.tr("Cancel"), name="export.cancel")
        self._go = Button(look, self.tr("Export"), name="export.go", tone="primary")
        self._show.clicked.connect(self._show_folder)
        self._cancel.clicked.connect(self.reject)
        self._go.clicked.connect(self._request_export)
        click_on_ctrl_enter(self, self._go)
        self._go.setDefault(True)
        self.finished.connect(self.canceled)
        column.addWidget(self._bar)
        column.addWidget(self._message)
        row = QHBoxLayout()
        row.addWidget(self._show)
        row.addStretch(1)
        row.addWidget(self._cancel)
        row.addWidget(self._go)
        column.addLayout(row)

    def _on_format_chosen(self, index: int) -> None:
        """Change the file suffix to that of the chosen format."""
        path = self._path_field.text()
        suffixes = sorted((export_format.suffix for export_format in self._formats), key=len, reverse=True)
        old_suffix = next((suffix for suffix in suffixes if path.endswith(suffix)), "")
        if old_suffix:
            self._path_field.setText(path.removesuffix(old_suffix) + self._formats[index].suffix)

    def _request_export(self) -> None:
        path = self._path_field.text().strip()
        if not path:
            self.show_error(self.tr("Enter a file name."))
            return
        self._busy(True)
        self.export_requested.emit(self._formats[self._kinds.checkedId()].id, path, self._keep.isChecked())

    def _busy(self, busy: bool) -> None:
        self._bar.setVisible(busy)
        self._go.setEnabled(not busy)
        self._show.hide()
        self._message.setVisible(False)

    def _choose(self) -> None:
        """Open Qt's file dialog. The native one would block the event loop."""
        dialog = QFileDialog(self, self.tr("Export session to"), self._path_field.text())
        dialog.setObjectName("export.files")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setOption(QFileDialog.Option.DontUseNativeDialog)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self._path_field.setText)
        dialog.open()

    def _show_folder(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(Path(self._path).parent)))
