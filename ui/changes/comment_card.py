"""A comment on lines of a diff, which the user can edit until it is sent."""

from typing import Final

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout

from ui.changes.review_state import ReviewComment
from ui.diff.comment_widget import CommentWidget
from ui.style.theme import Look, set_style_properties
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.labels import ENTER_KEYS, TextField, label, styled_frame

MAX_LINES: Final = 12
LEFT: Final = 46  # pixels; a comment begins below the plus and minus signs of the lines
MAX_WIDTH: Final = 760


class CommentCard(CommentWidget):
    """The card of a comment. Each change of its text is reported at once, so that it survives a crash.

    `first` is the current number of the first commented line; 0 if the lines no longer exist. Enter and Esc end the
    editing, Shift+Enter inserts a line break. A comment without text is removed when it loses the focus.
    """

    edited = Signal(str, str)
    """The ID of the comment and its text."""
    removed = Signal(str)
    abandoned = Signal(str)
    """The focus left a comment without text."""
    left = Signal()
    """The user finished editing, so that the diff takes the focus."""
    height_changed = Signal()

    def __init__(self, look: Look, comment: ReviewComment, first: int) -> None:
        super().__init__()
        self._comment = comment
        self.setObjectName("changes.comment")
        self.setAutoFillBackground(True)
        self.setAccessibleName(self._place(first))
        card = self._card = styled_frame("card")
        card.setMaximumWidth(look.size(MAX_WIDTH))
        heading = label(self._place(first), look.fonts.caption, "second", name="changes.comment.place")
        self._field = _CommentField(look, comment)
        self._field.setAccessibleName(self._place(first))
        self._remove = Button(look, "", name="changes.comment.remove", tone="quiet", icon="x")
        text = self.tr("Remove the comment from view") if comment.sent else self.tr("Delete the comment")
        self._remove.setToolTip(text)
        self._remove.setAccessibleName(text)
        top = QHBoxLayout()
        top.addWidget(heading, 1)
        top.addWidget(self._remove)
        column = QVBoxLayout(card)
        column.setContentsMargins(12, 2, 4, 8)
        column.setSpacing(2)
        column.addLayout(top)
        if not first:
            quote = "".join(comment.quote[:3]).rstrip()
            column.addWidget(label(visible(quote), look.fonts.mono, "third", name="changes.comment.quote", wrap=True))
        column.addWidget(self._field)
        row = QHBoxLayout(self)
        row.setContentsMargins(look.size(LEFT), 6, 16, 6)
        row.addWidget(card, 1)
        row.addStretch(0)
        self._field.textChanged.connect(self._change)
        self._field.entered.connect(self.left)
        self._field.escaped.connect(self.left)
        self._field.abandoned.connect(self._leave)
        self._remove.clicked.connect(lambda: self.removed.emit(comment.id))

    def description(self) -> str:
        return f"{self.accessibleName()}: {visible(self._field.toPlainText())}"

    def cursor_position(self) -> int:
        # The window's focus widget, so that this also works while another window is active.
        has_focus = self.window().focusWidget() is self._field
        return self._field.textCursor().position() if has_focus else -1

    def mark_selected(self, selected: bool) -> None:
        set_style_properties(self._card, selected=selected)

    def edit(self, position: int = -1) -> None:
        self._field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        cursor = self._field.textCursor()
        length = len(self._field.toPlainText().encode("utf-16-le")) // 2
        cursor.setPosition(min(position, length) if position >= 0 else length)
        self._field.setTextCursor(cursor)

    def _place(self, first: int) -> str:
        comment = self._comment
        begin = first or comment.first
        end = begin + comment.last - comment.first
        one, many = self.tr("Comment on line {}"), self.tr("Comment on lines {}–{}")
        place = one.format(begin) if begin == end else many.format(begin, end)
        if comment.sent:
            place = self.tr("{} · sent").format(place)
        return place if first else self.tr("{} · these lines have changed since").format(place)

    def _change(self) -> None:
        self.edited.emit(self._comment.id, self._field.toPlainText())

    def _leave(self) -> None:
        if not self._field.stripped_text():
            self.abandoned.emit(self._comment.id)

    # Overridden Qt methods

    def event(self, event: QEvent) -> bool:
        handled = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:  # for example, because a line of the text has been wrapped
            self.height_changed.emit()
        return handled


class _CommentField(TextField):
    """The text field of a comment."""

    escaped = Signal()
    abandoned = Signal()
    """The focus moved elsewhere within the window."""

    def __init__(self, look: Look, comment: ReviewComment) -> None:
        super().__init__(look.fonts.text, max_lines=MAX_LINES)
        self.setObjectName("changes.comment.input")
        self.setPlaceholderText(self.tr("Comment for the agent. Enter keeps it as a draft."))
        self.setPlainText(comment.text)
        self.setReadOnly(comment.sent)

    # Overridden Qt methods

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.escaped.emit()
        elif event.key() in ENTER_KEYS and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            event.ignore()  # let the panel handle Ctrl+Enter, which sends all comments
        else:
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if event.reason() not in {Qt.FocusReason.ActiveWindowFocusReason, Qt.FocusReason.PopupFocusReason}:
            self.abandoned.emit()
