"""The gutter of the skill editor: line numbers, icons for findings and bars for unsaved changes."""

from collections.abc import Callable, Mapping
from typing import Final

from PySide6.QtCore import QEvent, QPointF, QRect, QSize, Qt
from PySide6.QtGui import QAccessible, QFontMetrics, QHelpEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QToolTip, QWidget

from ui.skills.line_text_edit import LineTextEdit
from ui.style.icons import pixmap
from ui.style.theme import Look
from ui.widgets.paint import draw_line, draw_right_aligned

ICON: Final = 14
BAR: Final = 3
# Minimum width in digits, so that the text does not shift when the number of lines reaches 10 or 100.
MIN_DIGITS: Final = 3


class EditorGutter(QWidget):
    """The gutter. It paints only the visible lines. A click moves the cursor to the clicked line.

    Lines are counted from 0. `levels` maps lines to the level of their findings, `tooltip_of` returns the tooltip of a
    line, `changed` holds the lines with unsaved changes, and `added` the lines that a proposal adds.
    """

    accessible_role = QAccessible.Role.StaticText

    def __init__(self, look: Look, field: LineTextEdit, tooltip_of: Callable[[int], str]) -> None:
        super().__init__(field)
        self._look = look
        self._field = field
        self._tooltip_of = tooltip_of
        self.levels: Mapping[int, str] = {}
        self.changed: frozenset[int] = frozenset()
        self.added: frozenset[int] = frozenset()
        self.setObjectName("skill.source.margin")
        self.setAccessibleName(self.tr("Line numbers and findings"))
        self.setMouseTracking(True)

    def needed_width(self) -> int:
        digits = max(MIN_DIGITS, len(str(self._field.blockCount())))
        number = QFontMetrics(self._look.fonts.mono).horizontalAdvance("0") * digits
        return number + self._look.size(ICON) + 26

    def restyle(self, look: Look) -> None:
        self._look = look
        self.update()

    def _line_at(self, event: QPointF) -> int:
        return self._field.cursorForPosition(QPointF(0, event.y()).toPoint()).blockNumber()

    # Overridden Qt methods

    def sizeHint(self) -> QSize:
        return QSize(self.needed_width(), 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, fonts, field = self._look.theme, self._look.fonts, self._field
        size, current = self._look.size(ICON), field.textCursor().blockNumber()
        with QPainter(self) as painter:
            painter.fillRect(event.rect(), theme.background)
            for number, box in field.visible_lines(event.rect()):
                line = QRect(0, box.y(), self.width() - 12, box.height())
                if number in self.changed:
                    painter.fillRect(QRect(self.width() - BAR - 3, box.y(), BAR, box.height()), theme.accent)
                color = theme.second if number == current else theme.third
                first = QRect(line.x(), line.y(), line.width(), field.line_height())
                draw_right_aligned(painter, first, str(number + 1), fonts.mono, color)
                if number in self.added:
                    draw_line(painter, first.adjusted(8, 0, 0, 0), "+", fonts.mono, theme.done)
                elif level := self.levels.get(number):
                    name, token = ("circle-x", "failed") if level == "error" else ("triangle-alert", "waiting")
                    drawn = pixmap(name, theme.color(token), size, self.devicePixelRatioF())
                    painter.drawPixmap(QPointF(6, box.y() + (field.line_height() - size) // 2), drawn)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            text = self._tooltip_of(self._line_at(QPointF(event.pos())))
            QToolTip.showText(event.globalPos(), text, self) if text else QToolTip.hideText()
            return True
        return super().event(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._field.go_to_line(self._line_at(event.position()))
            self._field.setFocus()
