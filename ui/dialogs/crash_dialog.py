"""The dialog for an internal error: what happened, what was saved, a report to copy or save, and ways to continue."""

from pathlib import Path
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication, QTextOption
from PySide6.QtWidgets import QDialog, QFileDialog, QHBoxLayout, QVBoxLayout, QWidget

from core.domain.problems import ErrorDetails
from ui.style.theme import Look
from ui.widgets.button import Button
from ui.widgets.dialog_parts import resize_in_screen
from ui.widgets.labels import label, read_only_text

REPORT_FILE: Final = "journeyman-report.txt"
MAX_REPORT: Final = 200_000


class CrashDialog(QDialog):
    """Shows an internal error. `add` appends the reports of further errors.

    `restart_requested` carries true for a restart in safe mode.
    """

    restart_requested = Signal(bool)
    error_occurred = Signal(ErrorDetails)

    def __init__(self, look: Look, message: str, saved: str, report: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("crash")
        self.setWindowTitle(self.tr("Internal error"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        frame, self._report = read_only_text(
            report, look.fonts.mono, name="crash.report", accessible_name=self.tr("Error report")
        )
        self._report.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)
        about = self.tr(
            "Nothing is sent. API keys and your user name were removed from this report; check it for other private "
            "details before you share it."
        )
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(8)
        column.addWidget(label(message, look.fonts.title, name="crash.what", wrap=True))
        column.addWidget(label(saved, look.fonts.text, name="crash.saved", wrap=True))
        column.addWidget(label(about, look.fonts.text, "second", name="crash.about", wrap=True))
        column.addWidget(frame, 1)
        restarting = self.tr(
            "Restarting interrupts runs until you resume them.\nSafe mode turns off hooks, MCP servers, schedules and "
            "project instructions until you start Journeyman again."
        )
        column.addWidget(label(restarting, look.fonts.second, "second", name="crash.restarting", wrap=True))
        row = QHBoxLayout()
        row.setSpacing(8)
        column.addLayout(row)
        self._add_buttons(look, row)
        resize_in_screen(self, look.size(680), look.size(440))

    def add(self, report: str) -> None:
        """Append the report of another error. Ignored if the text has reached its maximum length."""
        if self._report.document().characterCount() + len(report) < MAX_REPORT:
            self._report.appendPlainText(f"\n{report}")

    def _add_buttons(self, look: Look, row: QHBoxLayout) -> None:
        copy = Button(look, self.tr("Copy report"), name="crash.copy", icon="copy", tone="quiet")
        save = Button(look, self.tr("Save report…"), name="crash.save", icon="download", tone="quiet")
        safe_restart = Button(look, self.tr("Restart in safe mode"), name="crash.safe")
        restart = Button(look, self.tr("Restart"), name="crash.restart")
        continue_button = Button(look, self.tr("Continue"), name="crash.on", tone="primary", hint=self.tr("Esc"))
        safe_restart.setToolTip(
            self.tr(
                "Restart without hooks, MCP servers, schedules and project instructions, in the default layout, until "
                "you start Journeyman again"
            )
        )
        restart.setToolTip(self.tr("Close Journeyman, then reopen it with the same sessions and layout"))
        copy.setToolTip(self.tr("Copy the report to the clipboard"))
        save.setToolTip(self.tr("Save the report as a file"))
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self._report.toPlainText()))
        save.clicked.connect(self._choose_file)
        safe_restart.clicked.connect(lambda: self._restart(True))
        restart.clicked.connect(lambda: self._restart(False))
        continue_button.clicked.connect(self.reject)
        row.addWidget(copy)
        row.addWidget(save)
        row.addStretch(1)
        for button in (safe_restart, restart, continue_button):
            row.addWidget(button)
        continue_button.setToolTip(self.tr("Close this message and keep working"))
        continue_button.setFocus()

    def _restart(self, safe: bool) -> None:
        self.accept()
        self.restart_requested.emit(safe)

    def _choose_file(self) -> None:
        dialog = QFileDialog(self, self.tr("Save report"), str(Path.home() / REPORT_FILE))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.fileSelected.connect(self.save)
        dialog.open()

    def save(self, name: str) -> None:
        try:
            Path(name).write_text(self._report.toPlainText() + "\n", encoding="utf-8")
        except OSError as error:
            why = f"{name}: {error.strerror or error}."
            message = self.tr("The error report could not be saved.")
            self.error_occurred.emit(ErrorDetails(message, why, self.tr("Choose another location.")))
