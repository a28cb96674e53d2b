"""Gives a key to a model server; it goes to the keyring of the system and is never shown again."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QLineEdit, QVBoxLayout, QWidget

from ui.theme import Look
from ui.widgets.button import Button
from ui.widgets.choice import Choice
from ui.widgets.dialog_parts import foot
from ui.widgets.words import label


class KeyDialog(QDialog):
    given = Signal(str, str)  # server, key

    def __init__(self, look: Look, servers: Sequence[tuple[str, str]], parent: QWidget | None = None) -> None:
        """`servers` are names with what a person calls them; the first is chosen."""
        super().__init__(parent)
        self._names = [name for name, _ in servers]
        self.setObjectName("key")
        self.setWindowTitle(self.tr("Add a key"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._servers = Choice()
        self._servers.setObjectName("key.server")
        self._servers.setAccessibleName(self.tr("Server"))
        self._servers.setFont(look.fonts.text)
        self._servers.addItems([title or name for name, title in servers])
        self._field = QLineEdit()
        self._field.setObjectName("key.value")
        self._field.setAccessibleName(self.tr("Key"))
        self._field.setPlaceholderText(self.tr("Paste the key here"))
        self._field.setEchoMode(QLineEdit.EchoMode.Password)
        self._field.setFont(look.fonts.mono)
        cancel = Button(look, self.tr("Cancel"), name="key.cancel")
        self._keep = Button(look, self.tr("Keep it"), name="key.keep", tone="primary")
        self._keep.setEnabled(False)
        self._keep.setDefault(True)
        text = self.tr(
            "It goes to the keyring of your system and is sent to this server alone. Without a keyring it is kept "
            "until Journeyman ends."
        )
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(10)
        column.addWidget(label(self.tr("Add a key"), look.fonts.bold))
        column.addWidget(label(text, look.fonts.text, "second", wrap=True))
        column.addWidget(self._servers)
        column.addWidget(self._field)
        column.addLayout(foot(cancel, self._keep))
        self.setMinimumWidth(look.size(420))
        self._field.textChanged.connect(lambda words: self._keep.setEnabled(bool(words.strip())))
        cancel.clicked.connect(self.reject)
        self._keep.clicked.connect(self._give)
        self._field.setFocus()

    def _give(self) -> None:
        self.given.emit(self._names[self._servers.currentIndex()], self._field.text().strip())
        self._field.clear()
        self.accept()
