"""The gutter of the skill editor: line numbers, icons for findings and bars for unsaved changes."""

from collections.abc import Callable, Mapping
from typing import Final

from PySide6.QtCore import QEvent, QPointF, QRect, QSize, Qt
from PySide6.QtGui import QAccessible, QFontMetrics, QHelpEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QToolTip, QWidget

from ui.skills.line_text_edit import LineTextEdit, VisibleLine
from ui.style.icons import pixmap
from ui.style.theme import Look
from ui.widgets.paint import draw_line, draw_right_aligned

ICON: Final = 14
BAR_WIDTH: Final = 3  # pixels; width of the bar that marks a line with unsaved changes
LEFT_MARGIN: Final = 6
RIGHT_MARGIN: Final = 12
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
        number_width = QFontMetrics(self._look.fonts.mono).horizontalAdvance("0") * digits
        return LEFT_MARGIN + self._look.size(ICON) + 8 + number_width + RIGHT_MARGIN

    def restyle(self, look: Look) -> None:
        self._look = look
        self.update()

    def _line_at(self, position: QPointF) -> int:
        return self._field.cursorForPosition(QPointF(0, position.y()).toPoint()).blockNumber()

    def _paint_line(self, painter: QPainter, line: VisibleLine) -> None:
        """Paint the number and the marks of a line. If the line is wrapped, they are beside its first row."""
        theme, font = self._look.theme, self._look.fonts.mono
        if line.number in self.changed:
            bar_left = self.width() - BAR_WIDTH - 3
            painter.fillRect(bar_left, line.rect.y(), BAR_WIDTH, line.rect.height(), theme.accent)
        is_current = line.number == self._field.textCursor().blockNumber()
        number_rect = QRect(0, line.rect.y(), self.width() - RIGHT_MARGIN, self._field.line_height())
        number_color = theme.second if is_current else theme.third
        draw_right_aligned(painter, number_rect, str(line.number + 1), font, number_color)
        if line.number in self.added:
            draw_line(painter, number_rect.adjusted(8, 0, 0, 0), "+", font, theme.done)
        elif level := self.levels.get(line.number):
            self._paint_finding(painter, line.rect.y(), level)

    def _paint_finding(self, painter: QPainter, top: int, level: str) -> None:
        icon, token = "triangle-alert", "waiting"
        if level == "error":
            icon, token = "circle-x", "failed"
        size = self._look.size(ICON)
        picture = pixmap(icon, self._look.theme.color(token), size, self.devicePixelRatioF())
        painter.drawPixmap(LEFT_MARGIN, top + (self._field.line_height() - size) // 2, picture)

    # Overridden Qt methods

    def sizeHint(self) -> QSize:
        return QSize(self.needed_width(), 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.fillRect(event.rect(), self._look.theme.background)
            for line in self._field.visible_lines(event.rect()):
                self._paint_line(painter, line)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            text = self._tooltip_of(self._line_at(QPointF(event.pos())))
            QToolTip.showText(event.globalPos(), text, self)  # without a text, this hides the tooltip
            return True
        return super().event(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._field.go_to_line(self._line_at(event.position()))
            self._field.setFocus()
