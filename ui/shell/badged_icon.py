"""Draws a number badge on an icon."""

from typing import Final

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QFont, QIcon, QPainter, QPixmap

SIDES: Final = (16, 22, 32, 64)


def with_badge(icon: QIcon, number: int, badge_color: QColor) -> QIcon:
    """Return the icon with a number badge in its corner; for 0, the icon itself."""
    if not number:
        return icon
    badged_icon = QIcon()
    for icon_size in SIDES:
        drawing = QPixmap(icon_size, icon_size)
        drawing.fill(Qt.GlobalColor.transparent)
        with QPainter(drawing) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            icon.paint(painter, 0, 0, icon_size, icon_size)
            badge_size = max(9, icon_size * 5 // 8)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(badge_color)
            badge_rect = QRect(icon_size - badge_size, icon_size - badge_size, badge_size, badge_size)
            painter.drawEllipse(badge_rect)
            font = QFont("Inter")
            font.setPixelSize(max(7, badge_size * 3 // 4))
            font.setWeight(QFont.Weight.Bold)
            painter.setFont(font)
            painter.setPen(QColor("black") if badge_color.lightness() > 110 else QColor("white"))
            text = str(number) if number < 10 else "9+"
            painter.drawText(badge_rect, Qt.AlignmentFlag.AlignCenter, text)
        badged_icon.addPixmap(drawing)
    return badged_icon
