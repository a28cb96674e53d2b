"""A toast: a short message about the last action that disappears by itself, optionally with an Undo button."""

import asyncio
from typing import Final

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import QApplication, QHBoxLayout, QWidget

from ui.base.tasks import UndoAction
from ui.style.theme import Look
from ui.widgets.accent_frame import AccentFrame
from ui.widgets.announce import announce
from ui.widgets.button import Button
from ui.widgets.elided import ElidedLabel

VISIBLE_MS: Final = 12_000
UNDO_VISIBLE_MS: Final = 30_000  # a user of a screen reader or at a high zoom needs longer to reach Undo


class Toast(AccentFrame):
    """A message that disappears by itself, with an optional Undo button. It stays while it is hovered or focused."""

    undo_changed = Signal()
    """There may be another action to undo, or none."""

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        theme = look.theme
        super().__init__(fill=theme.panel, line=theme.strong_line, edge=theme.accent, parent=parent)
        self.setObjectName("toast")
        self._undo: UndoAction | None = None
        self._text = ElidedLabel("", look.fonts.text, "")
        self._text.setObjectName("toast.text")
        self._undo_button = Button(look, self.tr("Undo"), name="toast.undo", icon="undo-2")
        self._close_button = Button(look, self.tr("Close"), name="toast.close", tone="quiet")
        self._undo_button.clicked.connect(self.undo)
        self._close_button.clicked.connect(self.hide)
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 6, 8, 6)
        row.addWidget(self._text, 1)
        row.addWidget(self._undo_button)
        row.addWidget(self._close_button)
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self._hide_unless_in_use)
        self.hide()

    def show_message(self, text: str, undo: UndoAction | None = None) -> None:
        self._undo = undo
        self._text.show_text(text)
        self._undo_button.setVisible(undo is not None)
        self.setAccessibleName(text)
        self.show()
        self._timer.start(UNDO_VISIBLE_MS if undo else VISIBLE_MS)
        self.undo_changed.emit()
        announce(self, text)

    @property
    def can_undo(self) -> bool:
        """Whether the toast is visible with an Undo button."""
        return self.isVisible() and self._undo is not None

    @property
    def duration_ms(self) -> int:
        """How long the toast stays after the message was shown, unless it is hovered or focused then."""
        return self._timer.interval()

    def undo(self) -> None:
        """Hide the toast, and undo its action. If that fails, offer it again unless a newer toast is shown."""
        act, self._undo = self._undo, None
        self.hide()
        if act is None:
            return
        task, text = act(), self.accessibleName()
        if task is None:
            self._announce_undone()
        else:
            task.add_done_callback(lambda ended: self._end_undo(ended, text, act))

    def _end_undo(self, task: asyncio.Task[bool], text: str, act: UndoAction) -> None:
        if task.cancelled():
            return  # because the window is closing
        if task.exception() is None and task.result():
            self._announce_undone()
        elif not self.isVisible():
            self.show_message(text, act)

    def _announce_undone(self) -> None:
        if QApplication.activeModalWidget() is None:  # otherwise, a dialog asks the user first
            announce(self, self.tr("Undone"))

    def restyle(self, look: Look) -> None:
        theme = look.theme
        self.set_colors(fill=theme.panel, line=theme.strong_line, edge=theme.accent)
        self._text.setFont(look.fonts.text)
        self._undo_button.restyle(look)
        self._close_button.restyle(look)

    def _hide_unless_in_use(self) -> None:
        if self.underMouse() or self._undo_button.hasFocus() or self._close_button.hasFocus():
            self._timer.start()
        else:
            self.hide()

    # Overridden Qt methods

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.undo_changed.emit()
