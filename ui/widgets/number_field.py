"""A number field with the style of the other input fields."""

from PySide6.QtCore import QEvent, QSize
from PySide6.QtGui import QPainter, QPaintEvent, QPalette, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QDoubleSpinBox

from ui.widgets.drop_down import PADDING, field_height
from ui.widgets.paint import draw_frame


class NumberField(QDoubleSpinBox):
    """A spin box without buttons. The up and down arrow keys change its value."""

    def __init__(self) -> None:
        super().__init__()
        self.setButtonSymbols(QDoubleSpinBox.ButtonSymbols.NoButtons)
        self.setFrame(False)
        self.lineEdit().setTextMargins(PADDING - 2, 0, PADDING - 2, 0)

    # Overridden Qt methods

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), field_height(self.font()))

    def minimumSizeHint(self) -> QSize:
        return QSize(super().minimumSizeHint().width(), field_height(self.font()))

    def textFromValue(self, value: float) -> str:
        """Format a number without trailing zeros: 300, not 300.00."""
        text = super().textFromValue(value)
        point = self.locale().decimalPoint()
        return text.rstrip("0").rstrip(point) if point in text else text

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Pass the wheel event to the page, so that scrolling the page does not change a number below the pointer."""
        event.ignore()

    def paintEvent(self, event: QPaintEvent) -> None:
        palette, roles = self.palette(), QPalette.ColorRole
        edge = palette.color(roles.Link if self.hasFocus() else roles.Dark)
        with QPainter(self) as painter:
            draw_frame(painter, self.rect(), 6, palette.color(roles.Base), edge)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._inset_line_edit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange:
            self._inset_line_edit()

    def _inset_line_edit(self) -> None:
        # Otherwise, the text field would cover the frame.
        self.lineEdit().setGeometry(self.rect().adjusted(3, 3, -3, -3))
