"""Asks for a name: of a skill or of a file of it, with a word at once about what is wrong with it."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QLineEdit, QVBoxLayout, QWidget

from ui.theme import Look
from ui.widgets.button import Button
from ui.widgets.choice import Choice
from ui.widgets.dialog_parts import foot
from ui.widgets.words import label

Option = tuple[str, str]  # what it is called for the program, and for the person


class NameDialog(QDialog):
    """`open()` it; `given` tells the name and what was chosen. `fault` says what is wrong with a name, else nothing."""

    given = Signal(str, str)

    def __init__(
        self,
        look: Look,
        *,
        title: str,
        told: str,
        yes: str,
        fault: Callable[[str], str],
        name: str = "",
        choices: Sequence[Option] = (),
        choose: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._fault = fault
        self.setObjectName("skill.name")
        self.setWindowTitle(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._field = QLineEdit(name)
        self._field.setObjectName("skill.name.field")
        self._field.setAccessibleName(self.tr("Name"))
        self._field.setFont(look.fonts.mono)
        self._field.selectAll()
        self._wrong = label("", look.fonts.second, "failed", name="skill.name.wrong", wrap=True)
        self._choices = Choice()
        self._choices.setObjectName("skill.name.choice")
        self._choices.setAccessibleName(choose)
        self._choices.setFont(look.fonts.text)
        for key, said in choices:
            self._choices.addItem(said, key)
        cancel = Button(look, self.tr("Cancel"), name="skill.name.cancel")
        self._yes = Button(look, yes, name="skill.name.yes", tone="primary")
        self._yes.setDefault(True)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(10)
        column.addWidget(label(title, look.fonts.bold, wrap=True))
        column.addWidget(label(told, look.fonts.text, "second", wrap=True))
        column.addWidget(self._field)
        column.addWidget(self._wrong)
        if choices:
            column.addWidget(label(choose, look.fonts.second, "second"))
            column.addWidget(self._choices)
        column.addLayout(foot(cancel, self._yes))
        self.setMinimumWidth(look.size(440))
        self._field.textChanged.connect(lambda _: self._weigh())
        cancel.clicked.connect(self.reject)
        self._yes.clicked.connect(self._give)
        self._weigh()
        self._field.setFocus()

    def _weigh(self) -> None:
        name = self._field.text().strip()
        wrong = self._fault(name) if name else ""
        self._wrong.setText(wrong)
        self._wrong.setVisible(bool(wrong))
        self._yes.setEnabled(bool(name) and not wrong)

    def _give(self) -> None:
        name, chosen = self._field.text().strip(), str(self._choices.currentData() or "")
        self.accept()
        self.given.emit(name, chosen)
