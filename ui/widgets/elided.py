"""A single-line label that elides its text; screen readers still read the full text."""

from PySide6.QtCore import QSize
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from ui.widgets.paint import draw_line

ROUNDING_MARGIN = 2  # pixels; Qt truncates fractions of a pixel, so text that just fits would be elided


class ElidedLabel(QLabel):
    """A single line of plain text in the color set by the style sheet."""

    def __init__(
        self, text: str, font: QFont, tone: str = "", *, name: str = "", parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setFont(font)
        if tone:
            self.setProperty("tone", tone)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._line = ""
        self.show_text(text)

    def show_text(self, text: str) -> None:
        self._line = " ".join(text.split())
        self.setAccessibleName(self._line)
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(self.font())
        return QSize(metrics.horizontalAdvance(self._line) + ROUNDING_MARGIN, metrics.height())

    def minimumSizeHint(self) -> QSize:
        return QSize(24, QFontMetrics(self.font()).height())

    def paintEvent(self, event: QPaintEvent) -> None:
        color = self.palette().color(self.foregroundRole())
        with QPainter(self) as painter:
            draw_line(painter, self.contentsRect(), self._line, self.font(), color)
