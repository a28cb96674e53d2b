"""A border around a focused list that has no selected row, and therefore nothing else that shows the focus."""

from typing import Final

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QFocusEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractItemView, QWidget

from ui.style.theme import Look
from ui.widgets.paint import draw_frame

KEY_REASONS: Final = (
    Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason, Qt.FocusReason.ShortcutFocusReason
)  # fmt: skip


class FocusBorder(QWidget):
    """Paints the border. It is a sibling of the viewport of the list, because a child would scroll with the rows."""

    def __init__(self, look: Look, view: QAbstractItemView) -> None:
        super().__init__(view)
        self._look, self._view = look, view
        self._by_keyboard = False
        self.setObjectName(f"{view.objectName()}.focus")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()
        view.installEventFilter(self)
        view.selectionModel().selectionChanged.connect(self._update_visibility)
        view.model().modelReset.connect(self._update_visibility)

    def restyle(self, look: Look) -> None:
        self._look = look

    def _note_reason(self, reason: Qt.FocusReason) -> None:
        """Record whether the list got the focus by keyboard. Returning to the window does not change the record."""
        if reason in KEY_REASONS:
            self._by_keyboard = True
        elif reason in (Qt.FocusReason.MouseFocusReason, Qt.FocusReason.OtherFocusReason):
            self._by_keyboard = self.window().testAttribute(Qt.WidgetAttribute.WA_KeyboardFocusChange)

    def _update_visibility(self) -> None:
        self.setVisible(self._by_keyboard and self._view.hasFocus() and not self._view.selectionModel().hasSelection())

    # Overridden Qt methods

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QFocusEvent):
            if event.gotFocus():
                self._note_reason(event.reason())
            self._update_visibility()
        elif event.type() == QEvent.Type.Resize:
            self.setGeometry(self._view.rect())
        return False

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            draw_frame(painter, self.rect(), 2, None, self._look.theme.accent)
