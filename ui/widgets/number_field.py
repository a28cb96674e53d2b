"""A number field styled like the other input fields."""

from PySide6.QtCore import QEvent
from PySide6.QtGui import QPainter, QPaintEvent, QPalette, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QDoubleSpinBox

from ui.widgets.drop_down import MIN_HEIGHT, PADDING
from ui.widgets.paint import draw_frame


class NumberField(QDoubleSpinBox):
    """A spin box without buttons; the arrow keys change the value."""

    def __init__(self) -> None:
        super().__init__()
        self.setButtonSymbols(QDoubleSpinBox.ButtonSymbols.NoButtons)
        self.setFrame(False)
        self.setMinimumHeight(MIN_HEIGHT)
        self.lineEdit().setTextMargins(PADDING - 2, 0, PADDING - 2, 0)

    # Qt overrides

    def textFromValue(self, value: float) -> str:
        """Format without trailing zeros: 300, not 300.00."""
        text = super().textFromValue(value)
        point = self.locale().decimalPoint()
        return text.rstrip("0").rstrip(point) if point in text else text

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Let the page scroll: the wheel would change a number that only happens to be below the pointer."""
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
        self.lineEdit().setGeometry(self.rect().adjusted(3, 3, -3, -3))  # otherwise it would cover the frame
