"""The plot of a memory's relevance since its creation, with a forecast of how it decays without further use."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QAccessible, QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from core.domain.memory import DAY
from ui.memory.texts import tr
from ui.style.theme import Look

if TYPE_CHECKING:
    from core.engine.services.memory_results import PastRelevance, RelevanceForecast

HEIGHT: Final = 84
FORECAST_LIMIT_DAYS: Final = 90


class RelevancePoint(NamedTuple):
    """The relevance, from 0 to 1, at a time in microseconds since the epoch."""

    at: int
    relevance: float


class RelevancePlot(QWidget):
    """A plot with the history as a solid line and the forecast as a dashed line."""

    accessible_role = QAccessible.Role.Chart

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._history: Sequence[RelevancePoint] = ()
        self._forecast: Sequence[RelevancePoint] = ()
        self._color_token = "thinking"
        self.setObjectName("memory.strength")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_relevance(
        self, history: "Sequence[PastRelevance]", forecast: "Sequence[RelevanceForecast]", color_token: str
    ) -> None:
        """Show how relevant a memory was until now, and how relevant it will be without further use."""
        self._color_token = color_token
        self._history = [RelevancePoint(past.at, past.relevance) for past in history]
        now = self._history[-1].at if self._history else 0
        self._forecast = [
            RelevancePoint(now + future.days * DAY, future.relevance)
            for future in forecast
            if future.days <= FORECAST_LIMIT_DAYS
        ]
        values = [tr("{}% now").format(round(self._history[-1].relevance * 100))] if self._history else []
        values += [
            tr("{1}% in {0} days").format(future.days, round(future.relevance * 100))
            for future in forecast
            if future.days
        ]
        text = tr("Relevance: {}").format(", ".join(values))
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
            first = points[0].at
            last = max(points[-1].at, first + 1)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)

            def to_pixels(point: RelevancePoint) -> QPointF:
                x = 1 + (point.at - first) / (last - first) * (self.width() - 2)
                return QPointF(x, 3 + (1 - point.relevance) * (self.height() - 8))

            color = theme.color(self._color_token)
            self._stroke(painter, [to_pixels(point) for point in self._history], color, Qt.PenStyle.SolidLine)
            forecast = [to_pixels(point) for point in (*self._history[-1:], *self._forecast)]
            self._stroke(painter, forecast, theme.third, Qt.PenStyle.DashLine)

    def _stroke(self, painter: QPainter, points: list[QPointF], color: QColor, style: Qt.PenStyle) -> None:
        painter.setPen(QPen(color, 2 if style == Qt.PenStyle.SolidLine else 1, style))
        painter.drawPolyline(QPolygonF(points))
