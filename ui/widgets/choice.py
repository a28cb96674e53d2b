"""A choice among a few words, that looks like the other fields."""

from PySide6.QtCore import QRect, QSize
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QComboBox

from ui.icons import pixmap
from ui.widgets.paint import draw_frame, draw_line

PAD = 9
ARROW = 14
HEIGHT = 28


class Choice(QComboBox):
    """Its colours are those of the application."""

    # Qt

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width() + 2 * PAD, max(HEIGHT, QFontMetrics(self.font()).height() + 12))

    def minimumSizeHint(self) -> QSize:
        return QSize(super().minimumSizeHint().width() + 2 * PAD, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        group = QPalette.ColorGroup.Active if self.isEnabled() else QPalette.ColorGroup.Disabled
        roles, palette = QPalette.ColorRole, self.palette()
        ink = palette.color(group, roles.ButtonText)
        edge = palette.color(roles.Link if self.hasFocus() else roles.Dark)
        with QPainter(self) as painter:
            draw_frame(painter, self.rect(), 6, palette.color(roles.Button), edge)
            arrow = pixmap("chevron-down", palette.color(roles.PlaceholderText), ARROW, self.devicePixelRatioF())
            left = self.width() - PAD - ARROW
            painter.drawPixmap(left, (self.height() - ARROW) // 2, arrow)
            draw_line(painter, QRect(PAD, 0, left - 2 * PAD, self.height()), self.currentText(), self.font(), ink)
