"""A dialog to edit a message that was sent earlier, and to send it again in a fork of the session."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QShowEvent, QTextCursor
from PySide6.QtWidgets import QVBoxLayout, QWidget

from ui.style.theme import Look
from ui.widgets.button import Button
from ui.widgets.dialog_parts import button_row, click_on_ctrl_enter, grow_to_fit
from ui.widgets.input_dialog import InputDialog
from ui.widgets.labels import TextField, label, show_focus_on, styled_frame

MIN_LINES = 4
MAX_LINES = 14


class EditMessageDialog(InputDialog):
    """Lets the user edit a message. Enter sends it, Shift+Enter inserts a line break.

    `attachments` lists the attachments of the message, one per line.
    """

    submitted = Signal(str)

    def __init__(self, look: Look, text: str, attachments: str = "", parent: QWidget | None = None) -> None:
        super().__init__(look, parent)
        self.setObjectName("resend")
        self.setWindowTitle(self.tr("Edit and resend"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._field = TextField(look.fonts.text, max_lines=MAX_LINES, min_lines=MIN_LINES)
        self._field.setObjectName("resend.text")
        self._field.setAccessibleName(self.tr("Message to the agent"))
        self._field.setPlainText(text)
        box = styled_frame("input")
        show_focus_on(box, self._field)
        box_layout = QVBoxLayout(box)
        box_layout.setContentsMargins(12, 12, 12, 12)
        box_layout.addWidget(self._field)
        note = self.tr(
            "A new session starts with the steps before this message, and this session stays as it is. The agent works "
            "in the folder as it is now: changes to files since this message are not reverted."
        )
        cancel = Button(look, self.tr("Cancel"), name="resend.cancel")
        self._send = Button(look, self.tr("Resend in a new session"), name="resend.send", tone="primary")
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(10)
        column.addWidget(label(self.tr("Edit and resend"), look.fonts.title))
        column.addWidget(label(note, look.fonts.text, "second", name="resend.note", wrap=True))
        column.addWidget(box)
        if attachments:
            column.addWidget(label(attachments, look.fonts.second, "second", name="resend.attachments", wrap=True))
        column.addLayout(button_row(cancel, self._send))
        self.setMinimumWidth(look.size(520))
        self._field.textChanged.connect(lambda: self._send.setEnabled(bool(self._field.stripped_text())))
        self._send.setEnabled(bool(text.strip()))  # a message without text can still have attachments
        self._field.textChanged.connect(lambda: grow_to_fit(self))
        self._field.entered.connect(self._submit)
        self._send.clicked.connect(self._submit)
        click_on_ctrl_enter(self, self._send)
        cancel.clicked.connect(self.reject)
        self._field.setFocus()

    def _submit(self) -> None:
        if text := self._field.stripped_text():
            self.submitted.emit(text)
            self.accept()

    # Overridden Qt methods

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        # Both need the width of the field, which it has from now on.
        grow_to_fit(self)
        self._field.moveCursor(QTextCursor.MoveOperation.End)
