"""The plot of a memory's relevance since its creation, with a forecast of how it decays without further use."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QAccessible, QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from core.domain.memory import DAY
from ui.memory.texts import tr
from ui.style.theme import Look

HEIGHT: Final = 84
FORECAST_LIMIT_DAYS: Final = 90

Point = tuple[int, float]


class RelevancePlot(QWidget):
    """A plot with the history as a solid line and the forecast as a dashed line."""

    accessible_role = QAccessible.Role.Chart

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._history: Sequence[Point] = ()
        self._forecast: Sequence[Point] = ()
        self._color_token = "thinking"
        self.setObjectName("memory.strength")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_relevance(self, history: Sequence[Point], forecast: Sequence[tuple[int, float]], color_token: str) -> None:
        """Show relevance values from 0 to 1 over time.

        The times in `history` are microseconds since the epoch, and end now. The times in `forecast` are days from now.
        """
        now = history[-1][0] if history else 0
        self._history, self._color_token = history, color_token
        self._forecast = [(now + days * DAY, relevance) for days, relevance in forecast if days <= FORECAST_LIMIT_DAYS]
        points = [tr("{}% now").format(round(history[-1][1] * 100))] if history else []
        points += [tr("{1}% in {0} days").format(days, round(relevance * 100)) for days, relevance in forecast if days]
        text = tr("Relevance: {}").format(", ".join(points))
        self.setAccessibleName(text)
        self.setToolTip(text)
        self.update()

    def restyle(self, look: Look) -> None:
        self._look = look
        self.updateGeometry()
        self.update()

    # Overridden Qt methods

    def sizeHint(self) -> QSize:
        return QSize(200, self._look.size(HEIGHT))

    def paintEvent(self, event: QPaintEvent) -> None:
        points = [*self._history, *self._forecast]
        theme = self._look.theme
        with QPainter(self) as painter:
            painter.fillRect(0, self.height() - 1, self.width(), 1, theme.strong_line)
            if not points:
                return
            first, last = points[0][0], max(points[-1][0], points[0][0] + 1)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)

            def to_pixels(point: Point) -> QPointF:
                x = 1 + (point[0] - first) / (last - first) * (self.width() - 2)
                return QPointF(x, 3 + (1 - point[1]) * (self.height() - 8))

            color = theme.color(self._color_token)
            self._stroke(painter, [to_pixels(point) for point in self._history], color, Qt.PenStyle.SolidLine)
            forecast = [to_pixels(point) for point in (*self._history[-1:], *self._forecast)]
            self._stroke(painter, forecast, theme.third, Qt.PenStyle.DashLine)

    def _stroke(self, painter: QPainter, points: list[QPointF], color: QColor, style: Qt.PenStyle) -> None:
        painter.setPen(QPen(color, 2 if style == Qt.PenStyle.SolidLine else 1, style))
        painter.drawPolyline(QPolygonF(points))
