"""The Add provider dialog: the name, API format and base URL of a provider."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFormLayout, QLineEdit, QSizePolicy, QVBoxLayout, QWidget

from core.domain.address import is_loopback
from core.domain.problems import ErrorDetails
from core.settings.schema import ApiFormat, Provider
from ui.style.theme import Look
from ui.widgets.button import Button
from ui.widgets.check_box import CheckBox
from ui.widgets.dialog_parts import button_row, click_on_ctrl_enter, grow_to_fit, show_form_error
from ui.widgets.drop_down import DropDown
from ui.widgets.input_dialog import InputDialog
from ui.widgets.labels import label

API_FORMATS: Final[Mapping[ApiFormat, str]] = {
    "chat": "OpenAI Chat Completions (most providers)",
    "responses": "OpenAI Responses",
    "anthropic": "Anthropic Messages",
    "ollama": "Ollama",
}


class AddProviderDialog(InputDialog):
    """Asks for a new provider.

    When `added` is emitted, the receiver adds the provider and closes the dialog, or calls `show_error` if that fails.
    """

    added = Signal(object)  # the Provider

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(look, parent)
        self.setObjectName("add_provider")
        self.setWindowTitle(self.tr("Add provider"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._name = self._text_field(
            "name", self.tr("Name"), self.tr("For example: work (lowercase letters, digits, . _ -)")
        )
        self._url = self._text_field("url", self.tr("Base URL"), "https://models.example.org/v1")
        self._variable = self._text_field(
            "api_key_env",
            self.tr("API key variable"),
            self.tr("Optional, for example: WORK_API_KEY"),
        )
        self._api_format = DropDown(name="add_provider.api", title=self.tr("API format"), font=look.fonts.text)
        self._api_format.setMinimumHeight(look.size(28))
        self._api_format.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        for api_format, text in API_FORMATS.items():
            self._api_format.addItem(self.tr(text), api_format)
        self._allow_http = CheckBox(
            look,
            self.tr("Allow unencrypted HTTP: others can read requests and the API key"),
            name="add_provider.allow_http",
        )
        self._allow_http.hide()
        self._error = label("", look.fonts.text, "failed", name="add_provider.error", wrap=True)
        self._error.hide()
        self._add = Button(look, self.tr("Add provider"), name="add_provider.add", tone="primary")
        self._add.setEnabled(False)
        self._add.setDefault(True)
        self._lay_out()
        for field in (self._name, self._url):
            field.textChanged.connect(self._update_state)
        self._add.clicked.connect(self._emit_added)
        click_on_ctrl_enter(self, self._add)
        self._name.setFocus()

    def show_error(self, error: ErrorDetails) -> None:
        """Show why the provider was not added. What the user has entered is kept."""
        show_form_error(self, self._error, str(error))

    def _text_field(self, name: str, accessible_name: str, hint: str) -> QLineEdit:
        field = QLineEdit()
        field.setObjectName(f"add_provider.{name}")
        field.setAccessibleName(accessible_name)
        field.setPlaceholderText(hint)
        field.setFont(self._look.fonts.text)
        return field

    def _update_state(self) -> None:
        self._error.hide()  # the error was about the previous input
        self._add.setEnabled(bool(self._name.text().strip() and self._url.text().strip()))
        self._allow_http.setVisible(is_unencrypted(self._url.text().strip()))
        grow_to_fit(self)

    def _emit_added(self) -> None:
        self._error.hide()
        self.added.emit(
            Provider(
                name=self._name.text().strip(),
                url=self._url.text().strip(),
                api=self._api_format.currentData(),
                allow_http=not self._allow_http.isHidden() and self._allow_http.isChecked(),
                api_key_env=self._variable.text().strip(),
            )
        )

    def _lay_out(self) -> None:
        fonts = self._look.fonts
        form = QFormLayout()
        form.setSpacing(8)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        form.addRow(label(self.tr("Name"), fonts.text), self._name)
        form.addRow(label(self.tr("API format"), fonts.text), self._api_format)
        form.addRow(label(self.tr("Base URL"), fonts.text), self._url)
        form.addRow(label(self.tr("API key variable"), fonts.text), self._variable)
        cancel = Button(self._look, self.tr("Cancel"), name="add_provider.cancel")
        cancel.clicked.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(10)
        column.addWidget(label(self.tr("Add provider"), fonts.title))
        about = self.tr(
            "A provider is a server that runs models. Its models are listed as NAME/MODEL. The API key comes from the "
            "environment variable below, or you can set it in Settings after you add the provider."
        )
        column.addWidget(label(about, fonts.second, "second", name="add_provider.about", wrap=True))
        column.addLayout(form)
        column.addWidget(self._allow_http)
        column.addWidget(self._error)
        column.addLayout(button_row(cancel, self._add))
        self.setMinimumWidth(self._look.size(480))


def is_unencrypted(address: str) -> bool:
    """Return whether the URL uses unencrypted HTTP to another computer."""
    try:
        parts = urlsplit(address)
        return parts.scheme == "http" and bool(parts.hostname) and not is_loopback(parts.hostname or "")
    except ValueError:
        return False
