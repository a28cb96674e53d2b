"""The dialog with the log output of an MCP server."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QPlainTextEdit, QVBoxLayout, QWidget

from core.domain.visible import cut_lines
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.dialog_parts import button_row, resize_in_screen
from ui.widgets.labels import label


class LogDialog(QDialog):
    def __init__(self, look: Look, server: str, printed: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("log")
        self.setWindowTitle(self.tr("Log of {}").format(server))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(10)
        column.addWidget(label(self.tr("Output of {} when it last ran").format(server), look.fonts.title, wrap=True))
        if printed.strip():
            text = QPlainTextEdit(cut_lines(visible(printed)))
            text.setObjectName("log.text")
            text.setAccessibleName(self.windowTitle())
            text.setReadOnly(True)
            text.setFont(look.fonts.mono)
            column.addWidget(text, 1)
            bar = text.verticalScrollBar()
            bar.setValue(bar.maximum())
        else:
            column.addWidget(label(self.tr("No output yet."), look.fonts.text, "second", name="log.none"), 1)
        close = Button(look, self.tr("Close"), name="log.close", hint=self.tr("Esc"))
        close.clicked.connect(self.accept)
        column.addLayout(button_row(close))
        resize_in_screen(self, look.size(640), look.size(420))
