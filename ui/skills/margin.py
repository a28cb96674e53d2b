"""Beside the text: the numbers of its lines, a sign where something was found, and a bar where it is not saved."""

from collections.abc import Callable, Mapping
from typing import Final

from PySide6.QtCore import QEvent, QPointF, QRect, QSize, Qt
from PySide6.QtGui import QFontMetrics, QHelpEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QToolTip, QWidget

from ui.icons import pixmap
from ui.skills.lines import LinesField
from ui.theme import Look
from ui.widgets.paint import draw_line, draw_right

SIGN: Final = 14
BAR: Final = 3
LEAST: Final = 3  # digits for which there is room from the start, so that the text does not jump


class Margin(QWidget):
    """Painted for the lines that are seen; a click chooses the line."""

    def __init__(self, look: Look, field: LinesField, said: Callable[[int], str]) -> None:
        super().__init__(field)
        self._look, self._field, self._said = look, field, said
        self.levels: Mapping[int, str] = {}
        self.changed: frozenset[int] = frozenset()
        self.added: frozenset[int] = frozenset()
        self.setObjectName("skill.source.margin")
        self.setAccessibleName(self.tr("Line numbers and findings"))
        self.setMouseTracking(True)

    def room(self) -> int:
        digits = max(LEAST, len(str(self._field.blockCount())))
        number = QFontMetrics(self._look.fonts.mono).horizontalAdvance("0") * digits
        return number + self._look.size(SIGN) + 26

    def restyle(self, look: Look) -> None:
        self._look = look
        self.update()

    def _line_at(self, event: QPointF) -> int:
        return self._field.cursorForPosition(QPointF(0, event.y()).toPoint()).blockNumber()

    # Qt

    def sizeHint(self) -> QSize:
        return QSize(self.room(), 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, fonts, field = self._look.theme, self._look.fonts, self._field
        size, here = self._look.size(SIGN), field.textCursor().blockNumber()
        with QPainter(self) as painter:
            painter.fillRect(event.rect(), theme.background)
            for number, box in field.lines_seen(event.rect()):
                line = QRect(0, box.y(), self.width() - 12, box.height())
                if number in self.changed:
                    painter.fillRect(QRect(self.width() - BAR - 3, box.y(), BAR, box.height()), theme.accent)
                ink = theme.second if number == here else theme.third
                first = QRect(line.x(), line.y(), line.width(), field.line_height())
                draw_right(painter, first, str(number + 1), fonts.mono, ink)
                if number in self.added:
                    draw_line(painter, first.adjusted(8, 0, 0, 0), "+", fonts.mono, theme.done)
                elif level := self.levels.get(number):
                    name, token = ("circle-x", "failed") if level == "error" else ("triangle-alert", "waiting")
                    drawn = pixmap(name, theme.colour(token), size, self.devicePixelRatioF())
                    painter.drawPixmap(QPointF(6, box.y() + (field.line_height() - size) // 2), drawn)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            said = self._said(self._line_at(QPointF(event.pos())))
            QToolTip.showText(event.globalPos(), said, self) if said else QToolTip.hideText()
            return True
        return super().event(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._field.go_to_line(self._line_at(event.position()))
            self._field.setFocus()
