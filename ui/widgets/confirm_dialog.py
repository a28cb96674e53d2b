"""A dialog that asks the user to confirm an action that cannot be undone or that costs money."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QVBoxLayout, QWidget

from ui.style.theme import Look
from ui.widgets.button import Button
from ui.widgets.dialog_parts import button_row
from ui.widgets.labels import label


class ConfirmDialog(QDialog):
    """Asks the user to confirm an action, and then calls `on_confirm`. Cancel has the initial focus."""

    def __init__(
        self,
        look: Look,
        title: str,
        text: str,
        confirm_label: str,
        on_confirm: Callable[[], object],
        parent: QWidget | None = None,
        *,
        tone: str = "stop",
    ) -> None:
        super().__init__(parent)
        self.setObjectName("confirm")
        self.setWindowTitle(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(8)
        column.addWidget(label(title, look.fonts.title, name="confirm.title", wrap=True))
        column.addWidget(label(text, look.fonts.text, "second", name="confirm.text", wrap=True))
        column.addSpacing(4)
        cancel = Button(look, self.tr("Cancel"), name="confirm.cancel")
        confirm = Button(look, confirm_label, name="confirm.yes", tone=tone)
        cancel.clicked.connect(self.reject)
        confirm.clicked.connect(self.accept)
        self.accepted.connect(on_confirm)
        column.addLayout(button_row(cancel, confirm))
        self.setMinimumWidth(look.size(420))
        cancel.setFocus()
