"""Small strokes that several painted rows share."""

from math import ceil

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPen, QTextLayout, QTextOption

from ui.theme import Theme
from ui.visible import visible

LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


def draw_line(painter: QPainter, place: QRect, text: str, font: QFont, ink: QColor) -> int:
    """One line of text, cut with an ellipsis where it does not fit; returns the width it took.

    Whoever wrote it: nothing in it turns, hides or moves what stands beside it, here and in what follows.
    """
    metrics = QFontMetrics(font)
    shown = metrics.elidedText(visible(text), Qt.TextElideMode.ElideRight, place.width())
    painter.setFont(font)
    painter.setPen(ink)
    painter.drawText(place, LEFT | Qt.TextFlag.TextSingleLine, shown)
    return metrics.horizontalAdvance(shown)


def draw_right(painter: QPainter, place: QRect, text: str, font: QFont, ink: QColor) -> int:
    """The same at the right edge, never cut: times and costs are short."""
    shown = visible(text)
    painter.setFont(font)
    painter.setPen(ink)
    painter.drawText(place, RIGHT | Qt.TextFlag.TextSingleLine, shown)
    return QFontMetrics(font).horizontalAdvance(shown)


def draw_frame(painter: QPainter, place: QRect, radius: float, fill: QColor | None, edge: QColor | None) -> None:
    """A rounded rectangle whose edge lies on whole pixels."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(edge, 1) if edge else Qt.PenStyle.NoPen)
    painter.setBrush(fill if fill else Qt.BrushStyle.NoBrush)
    half = 0.5 if edge else 0.0
    painter.drawRoundedRect(QRectF(place).adjusted(half, half, -half, -half), radius, radius)
    painter.restore()


def draw_chosen(painter: QPainter, place: QRect, theme: Theme, radius: float = 0) -> None:
    """The ground of a selected row."""
    draw_frame(painter, place, radius, theme.selection, theme.chosen)


def block_height(text: str, font: QFont, width: int) -> int:
    """How high a text is when it is broken into lines of this width."""
    return ceil(_block(text, font, width).boundingRect().height())


def draw_block(painter: QPainter, place: QRect, text: str, font: QFont, ink: QColor) -> None:
    """A text over several lines; a word longer than the line is broken rather than cut."""
    painter.setPen(ink)
    _block(text, font, place.width()).draw(painter, QPointF(place.topLeft()))


def _block(text: str, font: QFont, width: int) -> QTextLayout:
    layout = QTextLayout(text.replace("\n", "\u2028"), font)
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
    layout.setTextOption(option)
    layout.beginLayout()
    top = 0.0
    while (line := layout.createLine()).isValid():
        line.setLineWidth(width)
        line.setPosition(QPointF(0, top))
        top += line.height()
    layout.endLayout()
    return layout


def chip_width(text: str, font: QFont) -> int:
    return QFontMetrics(font).horizontalAdvance(visible(text)) + 12


def draw_chip(painter: QPainter, place: QRect, text: str, font: QFont, ink: QColor, edge: QColor) -> None:
    """A word in a thin frame: a badge, a number, a key."""
    draw_frame(painter, place, 4, None, edge)
    painter.setFont(font)
    painter.setPen(ink)
    painter.drawText(place, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextSingleLine, visible(text))
