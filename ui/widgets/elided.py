"""A label with one line of text, elided if necessary; screen readers always read the full text."""

from PySide6.QtCore import QSize
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from ui.widgets.paint import draw_line

MIN_WIDTH = 24
ROUNDING_MARGIN = 2  # pixels; Qt truncates fractions of a pixel, so that a text that just fits would be elided


class ElidedLabel(QLabel):
    """A single line of plain text. The style sheet sets its color."""

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
        self._kept_characters = 0
        self.show_text(text)

    def show_text(self, text: str) -> None:
        self._line = " ".join(text.split())
        self.setAccessibleName(self._line)
        self.updateGeometry()
        self.update()

    def keep_characters(self, count: int) -> None:
        """Require the width of `count` average characters, or of the whole text if that is shorter."""
        self._kept_characters = count
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(self.font())
        return QSize(metrics.horizontalAdvance(self._line) + ROUNDING_MARGIN, metrics.height())

    def minimumSizeHint(self) -> QSize:
        metrics = QFontMetrics(self.font())
        kept_width = max(MIN_WIDTH, self._kept_characters * metrics.averageCharWidth())
        full_width = max(MIN_WIDTH, self.sizeHint().width())
        return QSize(min(kept_width, full_width), metrics.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        color = self.palette().color(self.foregroundRole())
        with QPainter(self) as painter:
            draw_line(painter, self.contentsRect(), self._line, self.font(), color)
