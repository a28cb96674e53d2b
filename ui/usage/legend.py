"""The legend of the usage plot, which shows the color of each model."""

from collections.abc import Sequence

from PySide6.QtCore import QRect, QSize
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy

from ui.style.theme import Look
from ui.usage.formatting import model_label
from ui.usage.plot import LEFT, model_color
from ui.widgets.paint import draw_line
from ui.widgets.themed_widget import ThemedWidget
from ui.widgets.tooltip import tooltip_text

SQUARE = 8
GAP = 18


class UsageLegend(ThemedWidget):
    """One line with the color and name of each model. If space is short, the names are elided."""

    def __init__(self, look: Look) -> None:
        super().__init__(look)
        self._names: Sequence[str] = ()
        self.setObjectName("usage.legend")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_names(self, names: Sequence[str]) -> None:
        self._names = names
        self.setAccessibleName(", ".join(model_label(name) for name in names))
        self.setToolTip(tooltip_text("\n".join(model_label(name) for name in names)))
        self.update()

    # Overridden Qt methods

    def sizeHint(self) -> QSize:
        return QSize(200, QFontMetrics(self._look.fonts.second).height() + 4)

    def paintEvent(self, event: QPaintEvent) -> None:
        look = self._look
        x = look.size(LEFT)
        metrics, taken = QFontMetrics(look.fonts.second), len(self._names) * (SQUARE + 6 + GAP)
        widths = [metrics.horizontalAdvance(model_label(name)) + 1 for name in self._names]
        room = self.width() - x - taken
        max_width = max(widths, default=0) if sum(widths) <= room else room // max(1, len(self._names))
        with QPainter(self) as painter:
            for index, name in enumerate(self._names):
                painter.fillRect(x, (self.height() - SQUARE) // 2, SQUARE, SQUARE, model_color(look, index, name))
                label_rect = QRect(x + SQUARE + 6, 0, max_width, self.height())
                x = (
                    label_rect.left()
                    + draw_line(painter, label_rect, model_label(name), look.fonts.second, look.theme.second)
                    + GAP
                )
