"""A dialog that asks for the name of a skill or a file, and checks it while the user types."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QLineEdit, QVBoxLayout, QWidget

from ui.style.theme import Look
from ui.widgets.button import Button
from ui.widgets.dialog_parts import button_row, click_on_ctrl_enter, grow_to_fit, show_input_error
from ui.widgets.drop_down import DropDown
from ui.widgets.labels import label


class Choice(NamedTuple):
    value: str
    label: str


class NameDialog(QDialog):
    """Emits `submitted` with the name and the value of the selected choice.

    `find_error` returns what is wrong with a name; "" if it is valid. `choices` are shown in a list with the title
    `choices_title`; the list is hidden if there are none.
    """

    submitted = Signal(str, str)

    def __init__(
        self,
        look: Look,
        *,
        title: str,
        hint: str,
        button: str,
        find_error: Callable[[str], str],
        name: str = "",
        choices: Sequence[Choice] = (),
        choices_title: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._find_error = find_error
        self.setObjectName("skill.name")
        self.setWindowTitle(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._field = QLineEdit(name)
        self._field.setObjectName("skill.name.field")
        self._field.setAccessibleName(self.tr("Name"))
        self._field.setFont(look.fonts.mono)
        self._field.selectAll()
        self._error = label("", look.fonts.second, "failed", name="skill.name.wrong", wrap=True)
        self._choices = DropDown(name="skill.name.choice", title=choices_title, font=look.fonts.text)
        for choice in choices:
            self._choices.addItem(choice.label, choice.value)
        cancel = Button(look, self.tr("Cancel"), name="skill.name.cancel")
        self._confirm_button = Button(look, button, name="skill.name.yes", tone="primary")
        self._confirm_button.setDefault(True)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(10)
        column.addWidget(label(title, look.fonts.title, wrap=True))
        column.addWidget(label(hint, look.fonts.text, "second", wrap=True))
        column.addWidget(self._field)
        column.addWidget(self._error)
        if choices:
            column.addWidget(label(choices_title, look.fonts.second, "second"))
            column.addWidget(self._choices)
        column.addLayout(button_row(cancel, self._confirm_button))
        self.setMinimumWidth(look.size(440))
        self._field.textChanged.connect(lambda _: self._validate())
        cancel.clicked.connect(self.reject)
        self._confirm_button.clicked.connect(self._submit)
        click_on_ctrl_enter(self, self._confirm_button)
        self._validate()
        self._field.setFocus()

    def _validate(self) -> None:
        name = self._field.text().strip()
        error = self._find_error(name) if name else ""
        show_input_error(self._error, error)
        if self.isVisible():
            grow_to_fit(self)
        self._confirm_button.setEnabled(bool(name) and not error)

    def _submit(self) -> None:
        name, chosen = self._field.text().strip(), str(self._choices.currentData() or "")
        self.accept()
        self.submitted.emit(name, chosen)
