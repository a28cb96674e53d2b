"""Asked before what cannot be taken back, or costs: what it is, in plain words, and a button that says so."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QVBoxLayout, QWidget

from ui.theme import Look
from ui.widgets.button import Button
from ui.widgets.dialog_parts import foot
from ui.widgets.words import label


class Confirm(QDialog):
    """`open()` it; `act` is called when the person says yes. The keyboard starts at Cancel."""

    def __init__(
        self, look: Look, title: str, text: str, yes: str, act: Callable[[], None], parent: QWidget | None = None, *,
        tone: str = "stop",
    ) -> None:  # fmt: skip
        super().__init__(parent)
        self.setObjectName("confirm")
        self.setWindowTitle(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(8)
        column.addWidget(label(title, look.fonts.bold, name="confirm.title", wrap=True))
        column.addWidget(label(text, look.fonts.text, "second", name="confirm.text", wrap=True))
        column.addSpacing(4)
        cancel = Button(look, self.tr("Cancel"), name="confirm.cancel")
        go = Button(look, yes, name="confirm.yes", tone=tone)
        cancel.clicked.connect(self.reject)
        go.clicked.connect(self.accept)
        self.accepted.connect(act)
        column.addLayout(foot(cancel, go))
        self.setMinimumWidth(look.size(420))
        cancel.setFocus()
