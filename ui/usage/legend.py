"""Which colour of the plot is which model."""

from collections.abc import Sequence

from PySide6.QtCore import QRect, QSize
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy

from ui.theme import Look
from ui.usage.plot import LEFT, ink
from ui.usage.words import model_words
from ui.widgets.paint import draw_line
from ui.widgets.painted import Painted
from ui.widgets.tip import tip

SQUARE = 8
GAP = 18


class UsageLegend(Painted):
    """One line; a name that has no room is cut."""

    def __init__(self, look: Look) -> None:
        super().__init__(look)
        self._names: Sequence[str] = ()
        self.setObjectName("usage.legend")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_names(self, names: Sequence[str]) -> None:
        self._names = names
        self.setAccessibleName(", ".join(model_words(name) for name in names))
        self.setToolTip(tip("\n".join(model_words(name) for name in names)))
        self.update()

    # Qt

    def sizeHint(self) -> QSize:
        return QSize(200, QFontMetrics(self._look.fonts.second).height() + 4)

    def paintEvent(self, event: QPaintEvent) -> None:
        look, left = self._look, LEFT
        most = (self.width() - LEFT) // max(1, len(self._names)) - SQUARE - 6 - GAP
        with QPainter(self) as painter:
            for place, name in enumerate(self._names):
                painter.fillRect(left, (self.height() - SQUARE) // 2, SQUARE, SQUARE, ink(look, place, name))
                room = QRect(left + SQUARE + 6, 0, most, self.height())
                left = (
                    room.left()
                    + draw_line(painter, room, model_words(name), look.fonts.second, look.theme.second)
                    + GAP
                )
