"""The usage plot: a bar for each day, divided by model, and exact figures for the bar under the pointer or cursor."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QAccessible, QColor, QFontMetrics, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy

from ui.style.theme import Look
from ui.usage.bars import Bar, ticks
from ui.usage.formatting import (
    OTHER_MODELS,
    Measure,
    long_date,
    measure_text,
    measure_value,
    model_label,
    short_date,
    tick_label,
    tr,
)
from ui.widgets.announce import announce
from ui.widgets.paint import draw_frame, draw_line, draw_right_aligned, draw_selection
from ui.widgets.themed_widget import ThemedWidget

HEIGHT: Final = 240
LEFT: Final = 64  # pixels at 100% text size, for the labels of the scale
BELOW: Final = 24
ABOVE: Final = 8
WIDEST: Final = 48
MIN_BAR_PITCH: Final = 6  # pixels; minimum width of a bar including the gap to the next one
PAD: Final = 10
INKS: Final = ("accent", "thinking", "command", "network", "learned", "done")


def model_color(look: Look, index: int, name: str) -> QColor:
    """Return the color of a model; `index` is its position in the legend."""
    return look.theme.third if name == OTHER_MODELS else look.theme.color(INKS[index % len(INKS)])


class _CardLine(NamedTuple):
    """A line of the card beside the selected bar. `color` is the color of the model; None for the total."""

    name: str
    figure: str
    color: QColor | None = None


class UsagePlot(ThemedWidget):
    """A stacked bar chart. The pointer, or the Left and Right keys, select a bar."""

    accessible_role = QAccessible.Role.Chart

    def __init__(self, look: Look) -> None:
        super().__init__(look)
        self._bars: Sequence[Bar] = ()
        self._measure: Measure = "tokens"
        self._ticks = [0.0]
        self._selected = -1
        self.setObjectName("usage.plot")
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def room(self) -> int:
        """The number of bars for which there is room."""
        return max(7, (self.width() - self._look.size(LEFT)) // MIN_BAR_PITCH)

    def show_bars(self, bars: Sequence[Bar], measure: Measure) -> None:
        self._bars = bars
        self._measure = measure
        self._selected = -1
        self._ticks = ticks(max((measure_value(bar.whole, measure) for bar in bars), default=0.0), measure)
        self.setAccessibleName(tr("Usage by day"))
        self.setAccessibleDescription(tr("{} bars; press Left and Right to move between them").format(len(bars)))
        self.update()

    def accessible_text(self) -> str:
        """Return a text about the selected bar for screen readers."""
        if not 0 <= self._selected < len(self._bars):
            return ""
        return ", ".join(f"{name} {figure}".strip() for name, figure, _ in self._lines(self._bars[self._selected]))

    def point_at(self, index: int) -> None:
        if index != self._selected:
            self._selected = index
            self.update()

    def bar_at(self, x: int) -> int:
        """Return the index of the bar at x coordinate `x`; -1 outside the plot area."""
        plot = self._plot_rect()
        if not self._bars or not plot.left() <= x <= plot.right():
            return -1
        return min(len(self._bars) - 1, (x - plot.left()) * len(self._bars) // plot.width())

    def _plot_rect(self) -> QRect:
        left = self._look.size(LEFT)
        return QRect(left, ABOVE, max(1, self.width() - left - 1), self.height() - ABOVE - self._look.size(BELOW))

    def _bar_rect(self, index: int) -> QRect:
        """Return the rectangle of a bar, as if it had the full height of the plot."""
        plot, count = self._plot_rect(), len(self._bars)
        left = plot.left() + index * plot.width() // count
        right = plot.left() + (index + 1) * plot.width() // count
        gap = max(1, min((right - left) // 5, 8))
        width = min(right - left - gap, self._look.size(WIDEST))
        return QRect(left + (right - left - width) // 2, plot.top(), max(1, width), plot.height())

    def _paint_scale(self, painter: QPainter, plot: QRect) -> None:
        fonts, theme = self._look.fonts, self._look.theme
        text_height = QFontMetrics(fonts.caption).height()
        for tick in self._ticks:
            y = plot.bottom() - round(tick / (self._ticks[-1] or 1) * plot.height())
            painter.fillRect(plot.left(), y, plot.width(), 1, theme.line if tick else theme.strong_line)
            label_rect = QRect(0, max(0, y - text_height // 2), plot.left() - 8, text_height)
            draw_right_aligned(painter, label_rect, tick_label(tick, self._measure), fonts.caption, theme.third)

    def _paint_days(self, painter: QPainter, plot: QRect) -> None:
        """Paint as many labels of days as fit without touching."""
        fonts, theme = self._look.fonts, self._look.theme
        metrics = QFontMetrics(fonts.caption)
        free_from = 0
        for number, bar in enumerate(self._bars):
            text = short_date(bar.first)
            width, center_x = metrics.horizontalAdvance(text), self._bar_rect(number).center().x()
            left = min(max(plot.left(), center_x - width // 2), plot.right() - width)
            if left >= free_from:
                label_rect = QRect(left, plot.bottom() + 6, width + 2, metrics.height())
                draw_line(painter, label_rect, text, fonts.caption, theme.third)
                free_from = left + width + 16

    def _paint_bar(self, painter: QPainter, bar_index: int) -> None:
        bar, bar_rect = self._bars[bar_index], self._bar_rect(bar_index)
        if bar_index == self._selected:
            draw_selection(painter, bar_rect.adjusted(-2, 0, 2, 0), self._look.theme)
        bottom, max_value = bar_rect.bottom(), self._ticks[-1] or 1
        for model_index, part in enumerate(bar.parts):
            amount = measure_value(part, self._measure)
            if amount > 0:
                part_height = max(1, round(amount / max_value * bar_rect.height()))
                color = model_color(self._look, model_index, part.name)
                painter.fillRect(bar_rect.left(), bottom - part_height, bar_rect.width(), part_height, color)
                bottom -= part_height

    def _lines(self, bar: Bar) -> list[_CardLine]:
        """Return the lines of the card beside a bar: the total, then each model."""
        days = long_date(bar.first)
        if bar.last != bar.first:
            days = tr("{} to {}").format(short_date(bar.first), short_date(bar.last))
        total = _CardLine(days, measure_text(bar.whole, self._measure))
        models = [
            _CardLine(
                model_label(part.name), measure_text(part, self._measure), model_color(self._look, index, part.name)
            )
            for index, part in enumerate(bar.parts)
            if part.replies
        ]
        return [total, *models] if len(models) > 1 or self._measure == "tokens" else [total]

    def _paint_card(self, painter: QPainter, plot: QRect) -> None:
        theme, fonts = self._look.theme, self._look.fonts
        lines = self._lines(self._bars[self._selected])
        metrics, line_height = QFontMetrics(fonts.second), QFontMetrics(fonts.second).height() + 4
        widths = [metrics.horizontalAdvance(name) + metrics.horizontalAdvance(figure) for name, figure, _ in lines]
        card_width = max(widths) + 44 + 2 * PAD  # 44 pixels for the color square and the space before the figure
        size = QSize(min(card_width, plot.width()), line_height * len(lines) + 2 * PAD)
        bar_rect = self._bar_rect(self._selected)
        x = bar_rect.right() + 8
        if x + size.width() > plot.right():
            x = bar_rect.left() - 8 - size.width()
        card = QRect(QPoint(max(plot.left(), x), plot.top()), size)
        draw_frame(painter, card, 8, theme.raised, theme.strong_line)
        for row, line in enumerate(lines):
            line_y = card.top() + PAD + row * line_height
            line_rect = QRect(card.left() + PAD, line_y, card.width() - 2 * PAD, line_height)
            width = draw_right_aligned(painter, line_rect, line.figure, fonts.second, theme.text)
            x = line_rect.left()
            if line.color:
                painter.fillRect(x, line_rect.center().y() - 4, 8, 8, line.color)
                x += 14
            name_rect = QRect(x, line_rect.top(), line_rect.right() - width - 12 - x, line_height)
            draw_line(painter, name_rect, line.name, fonts.second, theme.second if line.color else theme.text)

    # Overridden Qt methods

    def sizeHint(self) -> QSize:
        return QSize(400, self._look.size(HEIGHT))

    def paintEvent(self, event: QPaintEvent) -> None:
        plot = self._plot_rect()
        with QPainter(self) as painter:
            self._paint_scale(painter, plot)
            for number in range(len(self._bars)):
                self._paint_bar(painter, number)
            self._paint_days(painter, plot)
            if self.hasFocus():
                draw_frame(painter, self.rect(), 6, None, self._look.theme.accent)
            if 0 <= self._selected < len(self._bars):
                self._paint_card(painter, plot)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        self.point_at(self.bar_at(round(event.position().x())))

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.point_at(-1)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        if step is None or not self._bars:
            super().keyPressEvent(event)
            return
        last = len(self._bars) - 1
        start = last if self._selected < 0 and step < 0 else self._selected + step
        self.point_at(min(max(start, 0), last))
        announce(self, self.accessible_text())
