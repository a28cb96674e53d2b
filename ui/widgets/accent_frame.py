"""A frame whose colored left edge signals a state."""

from typing import Final

from PySide6.QtCore import QRectF, Signal
from PySide6.QtGui import QColor, QHideEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QFrame, QWidget

EDGE_WIDTH: Final = 3
RADIUS: Final = 9.0


class AccentFrame(QFrame):
    """A thinly outlined, filled frame with a colored left edge."""

    focus_released = Signal()
    """The frame or a widget in it had the focus when it was hidden; the receiver focuses something else."""

    def __init__(self, *, fill: QColor, line: QColor, edge: QColor, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._fill = fill
        self._line = line
        self._edge = edge

    def set_colors(self, *, fill: QColor, line: QColor, edge: QColor) -> None:
        self._fill = fill
        self._line = line
        self._edge = edge
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            outline = QPainterPath()
            outline.addRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)
            painter.fillPath(outline, self._fill)
            painter.setPen(QPen(self._line, 1))
            painter.drawPath(outline)
            painter.setClipRect(QRectF(0, 0, EDGE_WIDTH, self.height()))
            edge_shape = QPainterPath()
            edge_shape.addRoundedRect(QRectF(self.rect()), RADIUS, RADIUS)
            painter.fillPath(edge_shape, self._edge)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        focused: QWidget | None = self.window().focusWidget()
        if self.isHidden() and focused is not None and (focused is self or self.isAncestorOf(focused)):
            self.focus_released.emit()
