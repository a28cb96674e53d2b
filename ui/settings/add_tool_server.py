"""Names a tool server: a command, an address, or the JSON in which other apps write servers down."""

from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QFormLayout, QLineEdit, QVBoxLayout, QWidget

from core.domain.problems import Problem, Trouble
from core.servers.pasted import Pasted, read_servers, typed_server
from ui.settings.add_server import open_to_others
from ui.settings.tool_card import line
from ui.theme import Look
from ui.visible import visible
from ui.widgets.button import Button
from ui.widgets.dialog_parts import foot, grow
from ui.widgets.tick import Tick
from ui.widgets.words import WordsField, breakable, label, surface

JSON: Final = ("{", "[")


class AddToolServer(QDialog):
    """Stays open until whoever hears `added` closes it; `tell` says why it was not taken."""

    added = Signal(object)  # what is to be added, each a Pasted

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self.setObjectName("add_tool")
        self.setWindowTitle(self.tr("Add a tool server"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._what = WordsField(look.fonts.mono, lines=10, least=3)
        self._keys = WordsField(look.fonts.mono, lines=4, least=2)
        for field, name, spoken, hint in (
            (self._what, "what", self.tr("Command, address or JSON"),
             'npx -y @example/files ~/notes\nhttps://tools.example.org/mcp\n{"mcpServers": {…}}'),
            (self._keys, "keys", self.tr("What it is given"), "TOKEN=…\nAuthorization=Bearer ${TOKEN}"),
        ):  # fmt: skip
            field.setObjectName(f"add_tool.{name}")
            field.setAccessibleName(spoken)
            field.setPlaceholderText(hint)
        self._name = QLineEdit()
        self._name.setObjectName("add_tool.name")
        self._name.setAccessibleName(self.tr("Name"))
        self._name.setPlaceholderText(self.tr("files: small letters, digits, and - between them"))
        self._name.setFont(look.fonts.text)
        self._plain = Tick(
            look, self.tr("Allow http: whoever is on the way can read it, the key too"), name="add_tool.plain"
        )
        self._read = label("", look.fonts.second, "second", name="add_tool.read", wrap=True)
        self._why = label("", look.fonts.text, "failed", name="add_tool.why", wrap=True)
        self._add = Button(look, self.tr("Add"), name="add_tool.add", tone="primary")
        self._add.setDefault(True)
        self._lay_out()
        for changed in (self._what.textChanged, self._name.textChanged, self._keys.textChanged):
            changed.connect(self._follow)
        self._plain.toggled.connect(self._follow)
        self._add.clicked.connect(self._tell_added)
        self._follow()
        self._what.setFocus()

    def tell(self, trouble: Trouble) -> None:
        """Not taken, and why; what was typed stays."""
        self._say(str(trouble))
        self._add.setEnabled(True)

    def wait(self) -> None:
        """It is being started, which can take a moment."""
        self._add.setEnabled(False)
        self._read.setText(self.tr("Starting it, to see what it says…"))
        self._read.show()

    def _found(self) -> tuple[Pasted, ...]:
        what = self._what.words()
        if what.startswith(JSON):
            return read_servers(what, self._name.text().strip())
        return (typed_server(self._name.text().strip(), what, self._keys.words(), self._plain.isChecked()),)

    def _follow(self) -> None:
        """What would be added, as it is read."""
        what = self._what.words()
        pasted = what.startswith(JSON)
        for part in self._own:
            part.setVisible(not pasted)
        self._plain.setVisible(not pasted and open_to_others(what))
        self._why.hide()
        found: tuple[Pasted, ...] = ()
        if what and (pasted or self._name.text().strip()):
            try:
                found = self._found()
            except Problem as problem:
                self._say(f"{problem.trouble.what} {problem.trouble.why}")
        self._read.setText(breakable("\n".join(map(self._told, found))))
        self._read.setVisible(bool(found))
        self._add.setEnabled(bool(found))
        grow(self)

    def _told(self, one: Pasted) -> str:
        keys = ", ".join((*one.keys, *one.needs))
        to_ring = self.tr(" · goes to the keyring: {}").format(visible(keys)) if keys else ""
        return f"{one.server.name}: {line(one.server)}{to_ring}"

    def _say(self, words: str) -> None:
        self._why.setText(breakable(visible(words)))
        self._why.show()
        grow(self)

    def _tell_added(self) -> None:
        try:
            self.added.emit(self._found())
        except Problem as problem:
            self.tell(problem.trouble)

    def _lay_out(self) -> None:
        fonts = self._look.fonts
        form = QFormLayout()
        form.setSpacing(8)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        self._own: list[QWidget] = []
        for text, field in (
            (self.tr("Command, address\nor JSON"), _well(self._what)),
            (self.tr("Name"), self._name),
            (self.tr("It is given"), _well(self._keys)),
        ):
            words = label(text, fonts.text)
            form.addRow(words, field)
            self._own += [words, field]
        self._own = self._own[2:]
        about = self.tr(
            "It is started, and its tools are offered to agents. A program runs as you do, without walls: add only "
            "what you trust. What it is given goes to the keyring, except what names variables as ${NAME}."
        )
        cancel = Button(self._look, self.tr("Cancel"), name="add_tool.cancel")
        cancel.clicked.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(10)
        column.addWidget(label(self.tr("Add a tool server"), fonts.bold))
        column.addWidget(label(about, fonts.second, "second", wrap=True))
        column.addLayout(form)
        for part in (self._plain, self._read, self._why):
            column.addWidget(part)
        column.addStretch(1)
        column.addLayout(foot(cancel, self._add))
        self.setMinimumWidth(self._look.size(520))
        self.resize(self._look.size(560), 0)


def _well(field: WordsField) -> QWidget:
    made = surface("input")
    inside = QVBoxLayout(made)
    inside.setContentsMargins(8, 6, 8, 6)
    inside.addWidget(field)
    return made
