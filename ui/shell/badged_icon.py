"""Draws a number badge on an icon."""

from typing import Final

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QFont, QIcon, QPainter, QPixmap

ICON_SIZES: Final = (16, 22, 32, 64)


def with_badge(icon: QIcon, number: int, badge_color: QColor) -> QIcon:
    """Return the icon with a number badge in its corner; for 0, the icon itself."""
    if not number:
        return icon
    text = str(number) if number < 10 else "9+"
    badged_icon = QIcon()
    for icon_size in ICON_SIZES:
        drawing = QPixmap(icon_size, icon_size)
        drawing.fill(Qt.GlobalColor.transparent)
        with QPainter(drawing) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            icon.paint(painter, 0, 0, icon_size, icon_size)
            _draw_badge(painter, icon_size, text, badge_color)
        badged_icon.addPixmap(drawing)
    return badged_icon


def _draw_badge(painter: QPainter, icon_size: int, text: str, color: QColor) -> None:
    """Draw a badge in the lower right corner of an icon."""
    badge_size = max(9, icon_size * 5 // 8)
    badge_rect = QRect(icon_size - badge_size, icon_size - badge_size, badge_size, badge_size)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(color)
    painter.drawEllipse(badge_rect)
    font = QFont("Inter")
    font.setPixelSize(max(7, badge_size * 3 // 4))
    font.setWeight(QFont.Weight.Bold)
    painter.setFont(font)
    painter.setPen(QColor("black") if color.lightness() > 110 else QColor("white"))
    painter.drawText(badge_rect, Qt.AlignmentFlag.AlignCenter, text)
