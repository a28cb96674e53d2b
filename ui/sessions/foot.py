"""Below the list: the pages that belong to no session."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from ui.theme import Look
from ui.widgets.button import Button
from ui.widgets.words import hairline


class SessionsFoot(QWidget):
    settings_wanted = Signal()
    help_wanted = Signal()

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._settings = Button(look, self.tr("Settings"), name="sessions.settings", tone="quiet", icon="settings")
        self._help = Button(look, self.tr("Help"), name="sessions.help", tone="quiet", icon="book-open")
        self._settings.clicked.connect(lambda: self.settings_wanted.emit())
        self._help.clicked.connect(lambda: self.help_wanted.emit())
        row = QHBoxLayout()
        row.setContentsMargins(8, 6, 8, 6)
        row.addWidget(self._settings, 1)
        row.addWidget(self._help, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(hairline())
        column.addLayout(row)

    def restyle(self, look: Look) -> None:
        self._settings.restyle(look)
        self._help.restyle(look)
