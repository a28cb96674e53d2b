"""The field in which the user changes a tool call before allowing it."""

from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from core.tools.editable_argument import editable_text, text_argument
from ui.ask.pending_permission import PendingPermission
from ui.style.theme import Look
from ui.widgets.labels import ENTER_KEYS, TextField, label, show_focus_on, styled_frame

MAX_LINES: Final = 10


class CallEditor(QWidget):
    """A labeled field with the command, the new text or the arguments of a tool call. Ctrl+Enter submits it."""

    text_changed = Signal()
    submitted = Signal()

    def __init__(self, look: Look, pending: PendingPermission, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        tool = pending.request.tool
        self.original = "" if pending.request.options else editable_text(tool, pending.arguments)
        labels = {
            "command": self.tr("Command to run instead"),
            "content": self.tr("New contents of the file"),
            "new_string": self.tr("Text to insert instead"),
            "diff": self.tr("Patch to apply instead"),
            "url": self.tr("Address to fetch instead"),
        }
        caption = labels.get(text_argument(tool), self.tr("Arguments of the call, as JSON"))
        self._caption = label(caption, look.fonts.second, "second")
        self._field = _Field(look.fonts.mono, max_lines=MAX_LINES)
        self._field.setObjectName("consent.edit")
        self._field.setAccessibleName(caption)
        frame = styled_frame("well")
        show_focus_on(frame, self._field)
        frame_layout = QVBoxLayout(frame)
        frame_layout.setContentsMargins(10, 5, 10, 4)
        frame_layout.addWidget(self._field)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(self._caption)
        layout.addWidget(frame)
        self._field.textChanged.connect(self.text_changed)
        self._field.submitted.connect(self.submitted)
        self.hide()

    def text(self) -> str:
        """Return the text with the line endings of the original, because a text field has only its own kind."""
        text = self._field.document().toRawText().replace("\u2029", "\n")
        return text.replace("\n", "\r\n") if "\r\n" in self.original else text

    def set_text(self, text: str) -> None:
        self._field.setPlainText(text)

    def focus_text(self) -> None:
        self._field.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def restyle(self, look: Look) -> None:
        self._caption.setFont(look.fonts.second)
        self._field.apply_font(look.fonts.mono)


class _Field(TextField):
    """A text field in which Enter inserts a line break and Ctrl+Enter submits."""

    submitted = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in ENTER_KEYS and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.submitted.emit()
            event.accept()
        elif event.key() in ENTER_KEYS:
            self.insertPlainText("\n")
            event.accept()
        else:
            super().keyPressEvent(event)
