"""The plot of a memory's relevance since its creation, with a forecast of its decay without further use."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from core.domain.memory import DAY
from ui.memory.texts import tr
from ui.style.theme import Look

HEIGHT: Final = 84
FORECAST_LIMIT_DAYS: Final = 90

Point = tuple[int, float]


class RelevancePlot(QWidget):
    """A plot with the history as a solid line and the forecast as a dashed line."""

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._past: Sequence[Point] = ()
        self._ahead: Sequence[Point] = ()
        self._ink = "thinking"
        self.setObjectName("memory.strength")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_relevance(self, past: Sequence[Point], ahead: Sequence[tuple[int, float]], ink: str) -> None:
        """Show relevance from 0 to 1: `past` over times in microseconds up to now, `ahead` over days from now."""
        now = past[-1][0] if past else 0
        self._past, self._ink = past, ink
        self._ahead = [(now + days * DAY, strong) for days, strong in ahead if days <= FORECAST_LIMIT_DAYS]
        points = [tr("{}% now").format(round(past[-1][1] * 100))] if past else []
        points += [tr("{1}% in {0} days").format(days, round(strong * 100)) for days, strong in ahead if days]
        text = tr("Relevance: {}").format(", ".join(points))
        self.setAccessibleName(text)
        self.setToolTip(text)
        self.update()

    def restyle(self, look: Look) -> None:
        self._look = look
        self.updateGeometry()
        self.update()

    # Qt overrides

    def sizeHint(self) -> QSize:
        return QSize(200, self._look.size(HEIGHT))

    def paintEvent(self, event: QPaintEvent) -> None:
        points = [*self._past, *self._ahead]
        theme = self._look.theme
        with QPainter(self) as painter:
            painter.fillRect(0, self.height() - 1, self.width(), 1, theme.strong_line)
            if not points:
                return
            first, last = points[0][0], max(points[-1][0], points[0][0] + 1)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)

            def at(point: Point) -> QPointF:
                x = 1 + (point[0] - first) / (last - first) * (self.width() - 2)
                return QPointF(x, 3 + (1 - point[1]) * (self.height() - 8))

            color = theme.color(self._ink)
            self._stroke(painter, [at(one) for one in self._past], color, Qt.PenStyle.SolidLine)
            ahead = [at(one) for one in (*self._past[-1:], *self._ahead)]
            self._stroke(painter, ahead, theme.third, Qt.PenStyle.DashLine)

    def _stroke(self, painter: QPainter, points: list[QPointF], color: QColor, style: Qt.PenStyle) -> None:
        painter.setPen(QPen(color, 2 if style == Qt.PenStyle.SolidLine else 1, style))
        painter.drawPolyline(QPolygonF(points))
