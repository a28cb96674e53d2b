"""A number, in a field that looks like the other fields."""

from PySide6.QtCore import QEvent
from PySide6.QtGui import QPainter, QPaintEvent, QPalette, QResizeEvent
from PySide6.QtWidgets import QDoubleSpinBox

from ui.widgets.choice import HEIGHT, PAD
from ui.widgets.paint import draw_frame


class NumberField(QDoubleSpinBox):
    """The wheel and the arrow keys do what its buttons would: it has none."""

    def __init__(self) -> None:
        super().__init__()
        self.setButtonSymbols(QDoubleSpinBox.ButtonSymbols.NoButtons)
        self.setFrame(False)
        self.setMinimumHeight(HEIGHT)
        self.lineEdit().setTextMargins(PAD - 2, 0, PAD - 2, 0)

    # Qt

    def textFromValue(self, value: float) -> str:
        """Without noughts that say nothing: 300, not 300.00."""
        whole = super().textFromValue(value)
        point = self.locale().decimalPoint()
        return whole.rstrip("0").rstrip(point) if point in whole else whole

    def paintEvent(self, event: QPaintEvent) -> None:
        palette, roles = self.palette(), QPalette.ColorRole
        edge = palette.color(roles.Link if self.hasFocus() else roles.Dark)
        with QPainter(self) as painter:
            draw_frame(painter, self.rect(), 6, palette.color(roles.Base), edge)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._leave_frame()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange:
            self._leave_frame()

    def _leave_frame(self) -> None:
        self.lineEdit().setGeometry(self.rect().adjusted(3, 3, -3, -3))  # else it would lie over the frame
