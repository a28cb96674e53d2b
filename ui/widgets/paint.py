"""Painting functions shared by item delegates and custom widgets."""

from math import ceil

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPen, QTextLayout, QTextOption
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem

from ui.style.theme import Theme
from ui.text.visible import visible

LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


def draw_line(painter: QPainter, rect: QRect, text: str, font: QFont, color: QColor) -> int:
    """Paint one line of text, elided if necessary, and return its width.

    Untrusted text can be passed to this function and those below, because control and bidirectional characters are made
    visible.
    """
    metrics = QFontMetrics(font)
    elided = metrics.elidedText(visible(text), Qt.TextElideMode.ElideRight, rect.width())
    painter.setFont(font)
    painter.setPen(color)
    painter.drawText(rect, LEFT | Qt.TextFlag.TextSingleLine, elided)
    return metrics.horizontalAdvance(elided)


def draw_right_aligned(painter: QPainter, rect: QRect, text: str, font: QFont, color: QColor) -> int:
    """Paint right-aligned text that is never elided, such as a time or a cost; return its width."""
    visible_text = visible(text)
    painter.setFont(font)
    painter.setPen(color)
    painter.drawText(rect, RIGHT | Qt.TextFlag.TextSingleLine, visible_text)
    return QFontMetrics(font).horizontalAdvance(visible_text)


def draw_frame(painter: QPainter, rect: QRect, radius: float, fill: QColor | None, edge: QColor | None) -> None:
    """Paint a rounded rectangle with an outline that is aligned to whole pixels, and optionally fill it."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(edge, 1) if edge else Qt.PenStyle.NoPen)
    painter.setBrush(fill if fill else Qt.BrushStyle.NoBrush)
    half = 0.5 if edge else 0.0
    painter.drawRoundedRect(QRectF(rect).adjusted(half, half, -half, -half), radius, radius)
    painter.restore()


def draw_selection(painter: QPainter, rect: QRect, theme: Theme, radius: float = 0) -> None:
    """Paint the background of a selected row."""
    draw_frame(painter, rect, radius, theme.selection, theme.chosen)


def draw_row_state(painter: QPainter, option: QStyleOptionViewItem, theme: Theme) -> None:
    """Paint the background of a selected row, and a frame around a row that has the focus by keyboard."""
    rect, state, flags = QRect(option.rect), option.state, QStyle.StateFlag
    if flags.State_Selected in state:
        draw_selection(painter, rect, theme)
    if flags.State_HasFocus in state and flags.State_KeyboardFocusChange in state:
        draw_frame(painter, rect.adjusted(1, 1, -1, -1), 4, None, theme.accent)


def wrapped_height(text: str, font: QFont, width: int) -> int:
    """Return the height that a text needs when it is wrapped to this width."""
    return ceil(_block(text, font, width).boundingRect().height())


def draw_wrapped(painter: QPainter, rect: QRect, text: str, font: QFont, color: QColor) -> None:
    """Paint wrapped text. A word that is longer than a line is broken."""
    painter.setPen(color)
    _block(text, font, rect.width()).draw(painter, QPointF(rect.topLeft()))


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


def draw_chip(painter: QPainter, rect: QRect, text: str, font: QFont, color: QColor, edge: QColor) -> None:
    """Paint text in a thin frame, such as a badge, a number or a key."""
    draw_frame(painter, rect, 4, None, edge)
    painter.setFont(font)
    painter.setPen(color)
    painter.drawText(rect, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextSingleLine, visible(text))
