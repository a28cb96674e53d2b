"""A dialog to set the API key of a provider. The caller stores the key. A key that is already stored is never shown."""

from collections.abc import Mapping

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QLineEdit, QVBoxLayout, QWidget

from ui.style.theme import Look
from ui.widgets.button import Button
from ui.widgets.dialog_parts import button_row, click_on_ctrl_enter
from ui.widgets.drop_down import DropDown
from ui.widgets.labels import label


class ApiKeyDialog(QDialog):
    submitted = Signal(str, str)  # name of the provider, and the API key

    def __init__(self, look: Look, providers: Mapping[str, str], parent: QWidget | None = None) -> None:
        """Create the dialog. `providers` maps names to displayed titles; the first provider is preselected."""
        super().__init__(parent)
        self._names = list(providers)
        self.setObjectName("key")
        self.setWindowTitle(self.tr("Set API key"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._provider_box = DropDown(name="key.server", title=self.tr("Provider"), font=look.fonts.text)
        self._provider_box.addItems([title or name for name, title in providers.items()])
        self._field = QLineEdit()
        self._field.setObjectName("key.value")
        self._field.setAccessibleName(self.tr("API key"))
        self._field.setPlaceholderText(self.tr("Paste the API key here"))
        self._field.setEchoMode(QLineEdit.EchoMode.Password)
        self._field.setFont(look.fonts.mono)
        cancel = Button(look, self.tr("Cancel"), name="key.cancel")
        self._save_button = Button(look, self.tr("Save"), name="key.keep", tone="primary")
        self._save_button.setEnabled(False)
        self._save_button.setDefault(True)
        text = self.tr(
            "Journeyman sends the key only to this provider. It stores it in your system keyring, or without a keyring "
            "keeps it in memory until you quit."
        )
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(10)
        column.addWidget(label(self.tr("Set API key"), look.fonts.title))
        column.addWidget(label(text, look.fonts.text, "second", wrap=True))
        column.addWidget(self._provider_box)
        column.addWidget(self._field)
        column.addLayout(button_row(cancel, self._save_button))
        self.setMinimumWidth(look.size(420))
        self._field.textChanged.connect(lambda text: self._save_button.setEnabled(bool(text.strip())))
        cancel.clicked.connect(self.reject)
        self._save_button.clicked.connect(self._submit)
        click_on_ctrl_enter(self, self._save_button)
        self._field.setFocus()

    def _submit(self) -> None:
        self.submitted.emit(self._names[self._provider_box.currentIndex()], self._field.text().strip())
        self._field.clear()
        self.accept()
