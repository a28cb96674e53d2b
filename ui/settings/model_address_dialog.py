"""A dialog for the address of a model to download."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QLineEdit, QVBoxLayout, QWidget

from ui.style.theme import Look
from ui.widgets.button import Button
from ui.widgets.dialog_parts import button_row, click_on_ctrl_enter
from ui.widgets.labels import label


class ModelAddressDialog(QDialog):
    submitted = Signal(str)
    """The address."""

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("model_address")
        self.setWindowTitle(self.tr("Download from address"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._field = QLineEdit()
        self._field.setObjectName("model_address.value")
        self._field.setAccessibleName(self.tr("Address of the model"))
        self._field.setPlaceholderText("https://huggingface.co/…/model.gguf")
        self._field.setFont(look.fonts.mono)
        cancel = Button(look, self.tr("Cancel"), name="model_address.cancel")
        self._download = Button(look, self.tr("Download"), name="model_address.download", tone="primary")
        self._download.setEnabled(False)
        self._download.setDefault(True)
        text = self.tr(
            "The address of a file in the GGUF format, or of its page on Hugging Face. Only use models from people "
            "that you trust."
        )
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(10)
        column.addWidget(label(self.tr("Download from address"), look.fonts.title))
        column.addWidget(label(text, look.fonts.text, "second", wrap=True))
        column.addWidget(self._field)
        column.addLayout(button_row(cancel, self._download))
        self.setMinimumWidth(look.size(480))
        self._field.textChanged.connect(lambda text: self._download.setEnabled(bool(text.strip())))
        cancel.clicked.connect(self.reject)
        self._download.clicked.connect(self._submit)
        click_on_ctrl_enter(self, self._download)
        self._field.setFocus()

    def _submit(self) -> None:
        self.submitted.emit(self._field.text().strip())
        self.accept()
