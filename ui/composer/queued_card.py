"""The card of a queued message, which the user can edit, move, send now or remove."""

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QApplication, QFrame, QHBoxLayout, QSizePolicy

from core.store.queued_messages import QueuedMessage
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.elided import ElidedLabel
from ui.widgets.labels import ENTER_KEYS, TextField, label

MAX_LINES: Final = 6
MIN_CHARACTERS: Final = 20  # if fewer characters of the message fit next to the note, the note is hidden
ALT: Final = Qt.KeyboardModifier.AltModifier
CONTROL: Final = Qt.KeyboardModifier.ControlModifier
PLAIN: Final = (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)


class QueuedCard(QFrame):
    """The card of a queued message.

    `move_requested` carries the number of positions by which to move the message, `focus_move_requested` the number of
    cards by which to move the focus.
    """

    edited = Signal(str)
    send_now_requested = Signal()
    removed = Signal()
    move_requested = Signal(int)
    focus_move_requested = Signal(int)
    dragged = Signal(int)
    dropped = Signal()
    height_changed = Signal()

    def __init__(self, look: Look, message: QueuedMessage) -> None:
        super().__init__()
        self.seq = message.entry
        self._message = message
        self._pressed_y: int | None = None
        self._dragging = False
        self.setProperty("surface", "card")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleDescription(
            self.tr("Enter edits, Ctrl+Enter sends now, Alt+Up and Alt+Down move, Delete removes")
        )
        self._number = label("", look.fonts.caption, "key")
        self._label = ElidedLabel("", look.fonts.text)
        self._label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._field = TextField(look.fonts.text, max_lines=MAX_LINES)
        self._field.setAccessibleName(self.tr("Text of the queued message"))
        self._field.entered.connect(self._save)
        self._field.textChanged.connect(self.height_changed)
        self._field.hide()
        self._note = ElidedLabel("", look.fonts.second, "second")
        self._note_text = ""
        self._edit = self._create_button(look, "pencil", self.tr("Edit (Enter)"), self._begin_edit)
        self._save_button = self._create_button(look, "check", self.tr("Save the change (Enter)"), self._save)
        self._send_now_button = self._create_button(look, "corner-down-left", "", self._send_now)
        self._remove = self._create_button(look, "x", self.tr("Remove from the queue (Delete)"), self.removed.emit)
        self._save_button.hide()
        row = self._row = QHBoxLayout(self)
        row.setContentsMargins(10, 2, 4, 2)
        row.setSpacing(8)
        row.addWidget(self._number, 0, Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self._label, 1)
        row.addWidget(self._field, 1)
        row.addWidget(self._note)
        for button in (self._edit, self._save_button, self._send_now_button, self._remove):
            row.addWidget(button)

    def show_message(self, message: QueuedMessage, number: int, note: str, *, running: bool) -> None:
        """Show a message with its number in the queue. `running` is true while a run is active."""
        self._message = message
        files = "".join(f" · {visible(name)}" for name in message.files)
        content = visible(message.text) + files
        self._number.setText(str(number))
        self._label.show_text(content.removeprefix(" · "))
        self._note_text = note
        self._note.show_text(note)
        self.setToolTip(note)
        self._fit_note()
        interrupt = self.tr("Send now (Ctrl+Enter): interrupts the reply and sends all queued messages, this one first")
        resume = self.tr("Send now (Ctrl+Enter): continues the run with all queued messages, this one first")
        self._send_now_button.setToolTip(interrupt if running else resume)
        self._send_now_button.setAccessibleName(self.tr("Send message {} now").format(number))
        self._edit.setAccessibleName(self.tr("Edit message {}").format(number))
        self._save_button.setAccessibleName(self.tr("Save the change to message {}").format(number))
        self._remove.setAccessibleName(self.tr("Remove message {} from the queue").format(number))
        self.setAccessibleName(self.tr("Queued message {}: {}").format(number, content))
        name = f"composer.queued.{number}"
        self.setObjectName(name)
        parts = {
            "text": self._label,
            "input": self._field,
            "edit": self._edit,
            "save": self._save_button,
            "now": self._send_now_button,
            "remove": self._remove,
        }
        for suffix, widget in parts.items():
            widget.setObjectName(f"{name}.{suffix}")

    def unsaved_text(self) -> str:
        """Return the edited text if it has not been saved; otherwise ""."""
        text = self._field.stripped_text()
        return text if self._field.isVisibleTo(self) and text != self._message.text.strip() else ""

    def discard_edit(self) -> None:
        """Discard the edit. Called after its text has been stored elsewhere."""
        self._field.setPlainText(self._message.text)

    def has_focus_inside(self) -> bool:
        focus = QApplication.focusWidget()
        return focus is not None and (focus is self or self.isAncestorOf(focus))

    def restyle(self, look: Look) -> None:
        self._number.setFont(look.fonts.caption)
        self._label.setFont(look.fonts.text)
        self._note.setFont(look.fonts.second)
        self._field.apply_font(look.fonts.text)
        for button in (self._edit, self._save_button, self._send_now_button, self._remove):
            button.restyle(look)

    def _fit_note(self) -> None:
        """Show the note if there is enough room for the message too."""
        metrics, margins = self._label.fontMetrics(), self._row.contentsMargins()
        text = min(self._label.sizeHint().width(), MIN_CHARACTERS * metrics.averageCharWidth())
        parts = [self._number, self._note, self._send_now_button, self._remove]
        parts.append(self._save_button if self._field.isVisibleTo(self) else self._edit)
        gaps = len(parts) * self._row.spacing() + margins.left() + margins.right()
        needed = text + sum(part.sizeHint().width() for part in parts) + gaps
        self._note.setVisible(bool(self._note_text) and needed <= self.width())

    def _create_button(self, look: Look, icon: str, tooltip: str, action: Callable[[], object]) -> Button:
        button = Button(look, "", name="", tone="quiet", icon=icon)
        button.setToolTip(tooltip)
        button.clicked.connect(lambda: action())  # `action` takes no arguments
        return button

    def _begin_edit(self) -> None:
        if self._field.isVisibleTo(self):
            self._end_edit()
            return
        self._field.setPlainText(self._message.text)
        self._set_editing(editing=True)
        self._field.moveCursor(self._field.textCursor().MoveOperation.End)
        self._field.setFocus(Qt.FocusReason.OtherFocusReason)

    def _save(self) -> None:
        """Save the edit. An empty text is ignored, because there is a separate button to remove the message."""
        text = self._field.stripped_text()
        if not text:
            return
        is_changed = bool(self.unsaved_text())
        self._end_edit()
        if is_changed:
            self.edited.emit(text)

    def _send_now(self) -> None:
        """Send the message now, with an edit that has not been saved."""
        if self.unsaved_text():
            self._save()
        self.send_now_requested.emit()

    def _end_edit(self) -> None:
        self._set_editing(editing=False)
        self.setFocus(Qt.FocusReason.OtherFocusReason)

    def _set_editing(self, *, editing: bool) -> None:
        self._field.setVisible(editing)
        self._label.setVisible(not editing)
        self._edit.setVisible(not editing)
        self._save_button.setVisible(editing)
        self.height_changed.emit()

    # Overridden Qt methods

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_note()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, modifiers = event.key(), event.modifiers()
        if self._field.isVisibleTo(self):
            if key == Qt.Key.Key_Escape:
                self._end_edit()
            else:
                super().keyPressEvent(event)
            return
        offset = {int(Qt.Key.Key_Up): -1, int(Qt.Key.Key_Down): 1}.get(key)
        if offset and modifiers & ALT:
            self.move_requested.emit(offset)
        elif offset and not modifiers & ~Qt.KeyboardModifier.KeypadModifier:
            self.focus_move_requested.emit(offset)
        elif key in ENTER_KEYS and modifiers == CONTROL:
            self._send_now()
        elif (key in ENTER_KEYS and modifiers in PLAIN) or key == Qt.Key.Key_F2:
            self._begin_edit()
        elif key in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.removed.emit()
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._pressed_y = round(event.position().y())
        event.accept()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        y = round(event.position().y())
        if self._pressed_y is None or self._field.isVisibleTo(self):
            return
        if self._dragging or abs(y - self._pressed_y) >= QApplication.startDragDistance():
            self._dragging = True
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
            self.dragged.emit(y)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        was_dragging = self._dragging
        self._dragging = False
        self._pressed_y = None
        if was_dragging:
            self.unsetCursor()
            self.dropped.emit()
        event.accept()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self._begin_edit()
        event.accept()
