"""One message that waits: its number, its words, and what can be done with it by mouse and by keys."""

from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QApplication, QFrame, QHBoxLayout, QSizePolicy, QWidget

from core.store.queue import QueuedLine
from ui.theme import Look
from ui.visible import visible
from ui.widgets.button import Button
from ui.widgets.elided import ElidedLabel
from ui.widgets.words import ENTER_KEYS, WordsField, label

LINES: Final = 6
ALT: Final = Qt.KeyboardModifier.AltModifier
CONTROL: Final = Qt.KeyboardModifier.ControlModifier
PLAIN: Final = (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)


class QueuedCard(QFrame):
    """`stepped` is by how many places it should move, `walked` where the keyboard goes."""

    edited = Signal(str)
    hurried = Signal()
    removed = Signal()
    stepped = Signal(int)
    walked = Signal(int)
    dragged = Signal(int)
    dropped = Signal()
    grown = Signal()

    def __init__(self, look: Look, line: QueuedLine) -> None:
        super().__init__()
        self.entry = line.entry
        self._line = line
        self._pressed: int | None = None
        self._dragging = False
        self.setProperty("surface", "card")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleDescription(
            self.tr("Enter edits, Ctrl+Enter sends now, Alt+Up and Alt+Down move, Delete takes back")
        )
        self._number = label("", look.fonts.caption, "key")
        self._words = ElidedLabel("", look.fonts.text)
        self._words.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._field = WordsField(look.fonts.text, lines=LINES)
        self._field.setAccessibleName(self.tr("Words of the queued message"))
        self._field.entered.connect(self._save)
        self._field.textChanged.connect(self.grown)
        self._field.hide()
        self._note = ElidedLabel("", look.fonts.second, "second")
        self._edit = self._button(look, "pencil", self.tr("Edit (Enter)"), self._begin)
        self._save_button = self._button(look, "check", self.tr("Keep the change (Enter)"), self._save)
        self._now = self._button(look, "corner-down-left", "", self._hurry)
        self._remove = self._button(look, "x", self.tr("Take back (Delete)"), self.removed.emit)
        self._save_button.hide()
        row = QHBoxLayout(self)
        row.setContentsMargins(10, 2, 4, 2)
        row.setSpacing(8)
        row.addWidget(self._number, 0, Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self._words, 1)
        row.addWidget(self._field, 1)
        row.addWidget(self._note)
        for button in (self._edit, self._save_button, self._now, self._remove):
            row.addWidget(button)

    def show_line(self, line: QueuedLine, number: int, note: str, *, going: bool) -> None:
        """What the message says now, and where it stands."""
        self._line = line
        files = "".join(f" · {visible(name)}" for name in line.files)
        said = visible(line.text) + files
        self._number.setText(str(number))
        self._words.show_text(said.removeprefix(" · "))
        self._note.show_text(note)
        self._note.setVisible(bool(note))
        now = self.tr("Send now (Ctrl+Enter): cuts the reply; all that waits goes, this first")
        rests = self.tr("Send now (Ctrl+Enter): the run goes on with all that waits, this first")
        self._now.setToolTip(now if going else rests)
        self._now.setAccessibleName(self.tr("Send message {} now").format(number))
        self._edit.setAccessibleName(self.tr("Edit message {}").format(number))
        self._save_button.setAccessibleName(self.tr("Keep the change of message {}").format(number))
        self._remove.setAccessibleName(self.tr("Take message {} back").format(number))
        self.setAccessibleName(self.tr("Queued message {}: {}").format(number, said))
        name = f"composer.queued.{number}"
        self.setObjectName(name)
        for part, word in (
            (self._words, "text"), (self._field, "input"), (self._edit, "edit"), (self._save_button, "save"),
            (self._now, "now"), (self._remove, "remove"),
        ):  # fmt: skip
            part.setObjectName(f"{name}.{word}")

    def unsaved(self) -> str:
        """Words that were changed here and kept nowhere yet."""
        words = self._field.words()
        return words if self._field.isVisibleTo(self) and words != self._line.text.strip() else ""

    def give_up(self) -> None:
        """What was being written is kept elsewhere."""
        self._field.setPlainText(self._line.text)

    def holds_keyboard(self) -> bool:
        focus = QApplication.focusWidget()
        return focus is not None and (focus is self or self.isAncestorOf(focus))

    def last_part(self) -> QWidget:
        return self._remove

    def restyle(self, look: Look) -> None:
        self._number.setFont(look.fonts.caption)
        self._words.setFont(look.fonts.text)
        self._note.setFont(look.fonts.second)
        self._field.set_font(look.fonts.text)
        for button in (self._edit, self._save_button, self._now, self._remove):
            button.restyle(look)

    def _button(self, look: Look, icon: str, tip: str, act: object) -> Button:
        made = Button(look, "", name="", tone="quiet", icon=icon)
        made.setToolTip(tip)
        made.clicked.connect(lambda: act())  # type: ignore[operator]  # a function without arguments
        return made

    def _begin(self) -> None:
        if self._field.isVisibleTo(self):
            self._end()
            return
        self._field.setPlainText(self._line.text)
        self._turn(editing=True)
        self._field.moveCursor(self._field.textCursor().MoveOperation.End)
        self._field.setFocus(Qt.FocusReason.OtherFocusReason)

    def _save(self) -> None:
        """Empty words are no message: that is what taking it back is for."""
        words = self._field.words()
        if not words:
            return
        changed = bool(self.unsaved())
        self._end()
        if changed:
            self.edited.emit(words)

    def _hurry(self) -> None:
        """As it is written now."""
        if self.unsaved():
            self._save()
        self.hurried.emit()

    def _end(self) -> None:
        self._turn(editing=False)
        self.setFocus(Qt.FocusReason.OtherFocusReason)

    def _turn(self, *, editing: bool) -> None:
        self._field.setVisible(editing)
        self._words.setVisible(not editing)
        self._edit.setVisible(not editing)
        self._save_button.setVisible(editing)
        self.grown.emit()

    # Qt

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, modifiers = event.key(), event.modifiers()
        arrows = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}
        by = arrows.get(Qt.Key(key)) if key in arrows else None
        editing = self._field.isVisibleTo(self)
        if key == Qt.Key.Key_Escape and editing:
            self._end()
        elif editing:
            super().keyPressEvent(event)
        elif by and modifiers & ALT:
            self.stepped.emit(by)
        elif by and not modifiers & ~Qt.KeyboardModifier.KeypadModifier:
            self.walked.emit(by)
        elif key in ENTER_KEYS and modifiers == CONTROL:
            self._hurry()
        elif (key in ENTER_KEYS and modifiers in PLAIN) or key == Qt.Key.Key_F2:
            self._begin()
        elif key in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.removed.emit()
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._pressed = round(event.position().y())
        event.accept()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        y = round(event.position().y())
        if self._pressed is None or self._field.isVisibleTo(self):
            return
        if self._dragging or abs(y - self._pressed) >= QApplication.startDragDistance():
            self._dragging = True
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
            self.dragged.emit(y)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        dragging, self._dragging, self._pressed = self._dragging, False, None
        if dragging:
            self.unsetCursor()
            self.dropped.emit()
        event.accept()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self._begin()
        event.accept()
