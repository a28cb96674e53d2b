"""Names a model server of one's own: what it is called, what it speaks, where it is."""

from typing import Final
from urllib.parse import urlsplit

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QFormLayout, QLineEdit, QVBoxLayout, QWidget

from core.domain.address import is_loopback
from core.domain.problems import Trouble
from ui.theme import Look
from ui.widgets.button import Button
from ui.widgets.choice import Choice
from ui.widgets.dialog_parts import foot, grow
from ui.widgets.tick import Tick
from ui.widgets.words import breakable, label

SPOKEN: Final = (
    ("chat", "OpenAI Chat Completions, as most servers do"),
    ("responses", "OpenAI Responses"),
    ("anthropic", "Anthropic Messages"),
    ("ollama", "Ollama"),
)


class AddServer(QDialog):
    """Stays open until whoever hears `added` closes it; `tell` says why it was not taken."""

    added = Signal(str, str, str, bool, str)  # name, address, wire, plain, variable

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self.setObjectName("add_server")
        self.setWindowTitle(self.tr("Add a server"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._name = self._line("name", self.tr("Name"), self.tr("work: small letters, digits, . _ -"))
        self._url = self._line("url", self.tr("Address"), "https://models.example.org/v1")
        self._variable = self._line(
            "variable",
            self.tr("Variable with its key"),
            self.tr("Optional: WORK_API_KEY. A key can also be given later"),
        )
        self._wire = Choice()
        self._wire.setObjectName("add_server.wire")
        self._wire.setAccessibleName(self.tr("It speaks"))
        self._wire.setFont(look.fonts.text)
        self._wire.setMinimumHeight(look.size(28))
        for wire, text in SPOKEN:
            self._wire.addItem(self.tr(text), wire)
        self._plain = Tick(
            look, self.tr("Allow http: whoever is on the way can read it, the key too"), name="add_server.plain"
        )
        self._plain.hide()
        self._why = label("", look.fonts.text, "failed", name="add_server.why", wrap=True)
        self._why.hide()
        self._add = Button(look, self.tr("Add"), name="add_server.add", tone="primary")
        self._add.setEnabled(False)
        self._add.setDefault(True)
        self._lay_out()
        for field in (self._name, self._url):
            field.textChanged.connect(self._follow)
        self._add.clicked.connect(self._tell_added)
        self._name.setFocus()

    def tell(self, trouble: Trouble) -> None:
        """Not taken, and why; what was typed stays."""
        self._why.setText(breakable(str(trouble)))
        self._why.show()
        grow(self)

    def _line(self, name: str, spoken: str, hint: str) -> QLineEdit:
        made = QLineEdit()
        made.setObjectName(f"add_server.{name}")
        made.setAccessibleName(spoken)
        made.setPlaceholderText(hint)
        made.setFont(self._look.fonts.text)
        return made

    def _follow(self) -> None:
        self._add.setEnabled(bool(self._name.text().strip() and self._url.text().strip()))
        self._plain.setVisible(open_to_others(self._url.text().strip()))
        grow(self)

    def _tell_added(self) -> None:
        self._why.hide()
        plain = not self._plain.isHidden() and self._plain.isChecked()
        texts = [field.text().strip() for field in (self._name, self._url, self._variable)]
        self.added.emit(texts[0], texts[1], self._wire.currentData(), plain, texts[2])

    def _lay_out(self) -> None:
        fonts = self._look.fonts
        form = QFormLayout()
        form.setSpacing(8)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        for text, field in (
            (self.tr("Name"), self._name),
            (self.tr("It speaks"), self._wire),
            (self.tr("Address"), self._url),
            (self.tr("Variable with its key"), self._variable),
        ):
            form.addRow(label(text, fonts.text), field)
        cancel = Button(self._look, self.tr("Cancel"), name="add_server.cancel")
        cancel.clicked.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(10)
        column.addWidget(label(self.tr("Add a server"), fonts.bold))
        column.addLayout(form)
        column.addWidget(self._plain)
        column.addWidget(self._why)
        column.addLayout(foot(cancel, self._add))
        self.setMinimumWidth(self._look.size(480))


def open_to_others(address: str) -> bool:
    """What is sent there can be read on the way."""
    try:
        parts = urlsplit(address)
        return parts.scheme == "http" and bool(parts.hostname) and not is_loopback(parts.hostname or "")
    except ValueError:
        return False
