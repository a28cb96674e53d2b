"""The legend of the usage plot."""

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
    """A single line of colors and model names; names are elided if space is short."""

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

    # Qt overrides

    def sizeHint(self) -> QSize:
        return QSize(200, QFontMetrics(self._look.fonts.second).height() + 4)

    def paintEvent(self, event: QPaintEvent) -> None:
        look, x = self._look, LEFT
        max_width = (self.width() - LEFT) // max(1, len(self._names)) - SQUARE - 6 - GAP
        with QPainter(self) as painter:
            for index, name in enumerate(self._names):
                painter.fillRect(x, (self.height() - SQUARE) // 2, SQUARE, SQUARE, model_color(look, index, name))
                label_rect = QRect(x + SQUARE + 6, 0, max_width, self.height())
                x = (
                    label_rect.left()
                    + draw_line(painter, label_rect, model_label(name), look.fonts.second, look.theme.second)
                    + GAP
                )
