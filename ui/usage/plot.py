"""Bars by day, each made of the models that were asked; what is under the pointer, or the keyboard, is said exactly."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy

from ui.theme import Look
from ui.usage.bars import Bar, ticks
from ui.usage.words import OTHERS, Measure, day_words, figure, model_words, scale_mark, short_day, tr, value
from ui.widgets.announce import announce
from ui.widgets.paint import draw_chosen, draw_frame, draw_line, draw_right
from ui.widgets.painted import Painted

HEIGHT: Final = 240
LEFT: Final = 64
BELOW: Final = 24
ABOVE: Final = 8
WIDEST: Final = 48
LEAST: Final = 6  # pixels that a bar and its gap need
PAD: Final = 10
INKS: Final = ("accent", "thinking", "command", "network", "learned", "done")


def ink(look: Look, place: int, name: str) -> QColor:
    """The colour of a model by its place."""
    return look.theme.third if name == OTHERS else look.theme.colour(INKS[place % len(INKS)])


class UsagePlot(Painted):
    """Left and right go from bar to bar, as the pointer does."""

    def __init__(self, look: Look) -> None:
        super().__init__(look)
        self._bars: Sequence[Bar] = ()
        self._measure: Measure = "tokens"
        self._ticks = [0.0]
        self._at = -1
        self.setObjectName("usage.plot")
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def room(self) -> int:
        """How many bars fit."""
        return max(7, (self.width() - LEFT) // LEAST)

    def show_bars(self, bars: Sequence[Bar], measure: Measure) -> None:
        self._bars, self._measure, self._at = bars, measure, -1
        self._ticks = ticks(max((value(bar.whole, measure) for bar in bars), default=0.0), measure)
        self.setAccessibleName(tr("Use by day"))
        self.setAccessibleDescription(tr("{} bars; Left and Right go from one to the next").format(len(bars)))
        self.update()

    def said(self) -> str:
        """Of the bar that is pointed at, in words."""
        if not 0 <= self._at < len(self._bars):
            return ""
        return ", ".join(f"{name} {words}".strip() for _, name, words in self._lines(self._bars[self._at]))

    def point_at(self, place: int) -> None:
        if place != self._at:
            self._at = place
            self.update()

    def bar_at(self, x: int) -> int:
        """The bar over this place of the ground; -1 beside them."""
        plot = self._ground()
        if not self._bars or not plot.left() <= x <= plot.right():
            return -1
        return min(len(self._bars) - 1, (x - plot.left()) * len(self._bars) // plot.width())

    # What is drawn

    def _ground(self) -> QRect:
        return QRect(LEFT, ABOVE, max(1, self.width() - LEFT - 1), self.height() - ABOVE - BELOW)

    def _place(self, number: int) -> QRect:
        """Of one bar, as high as the ground."""
        plot, count = self._ground(), len(self._bars)
        left = plot.left() + number * plot.width() // count
        right = plot.left() + (number + 1) * plot.width() // count
        gap = max(1, min((right - left) // 5, 8))
        width = min(right - left - gap, self._look.size(WIDEST))
        return QRect(left + (right - left - width) // 2, plot.top(), max(1, width), plot.height())

    def _paint_scale(self, painter: QPainter, plot: QRect) -> None:
        fonts, theme = self._look.fonts, self._look.theme
        tall = QFontMetrics(fonts.caption).height()
        for tick in self._ticks:
            y = plot.bottom() - round(tick / (self._ticks[-1] or 1) * plot.height())
            painter.fillRect(plot.left(), y, plot.width(), 1, theme.line if tick else theme.strong_line)
            mark = QRect(0, max(0, y - tall // 2), LEFT - 8, tall)
            draw_right(painter, mark, scale_mark(tick, self._measure), fonts.caption, theme.third)

    def _paint_days(self, painter: QPainter, plot: QRect) -> None:
        """As many as stand side by side without touching."""
        fonts, theme = self._look.fonts, self._look.theme
        metrics = QFontMetrics(fonts.caption)
        taken = 0
        for number, bar in enumerate(self._bars):
            words = short_day(bar.first)
            width, middle = metrics.horizontalAdvance(words), self._place(number).center().x()
            left = min(max(plot.left(), middle - width // 2), plot.right() - width)
            if left >= taken:
                place = QRect(left, plot.bottom() + 6, width + 2, metrics.height())
                draw_line(painter, place, words, fonts.caption, theme.third)
                taken = left + width + 16

    def _paint_bar(self, painter: QPainter, number: int) -> None:
        bar, place = self._bars[number], self._place(number)
        if number == self._at:
            draw_chosen(painter, place.adjusted(-2, 0, 2, 0), self._look.theme)
        bottom, high = place.bottom(), self._ticks[-1] or 1
        for order, part in enumerate(bar.parts):
            amount = value(part, self._measure)
            if amount > 0:
                tall = max(1, round(amount / high * place.height()))
                colour = ink(self._look, order, part.name)
                painter.fillRect(place.left(), bottom - tall, place.width(), tall, colour)
                bottom -= tall

    def _lines(self, bar: Bar) -> list[tuple[int, str, str]]:
        """What the card says: the days, the sum, then each model with its place among them."""
        days = day_words(bar.first)
        if bar.last != bar.first:
            days = tr("{} to {}").format(short_day(bar.first), short_day(bar.last))
        lines = [(-1, days, figure(bar.whole, self._measure))]
        asked = [(place, part) for place, part in enumerate(bar.parts) if part.replies]
        if len(asked) > 1 or self._measure == "tokens":
            lines += [(place, model_words(part.name), figure(part, self._measure)) for place, part in asked]
        return lines

    def _paint_card(self, painter: QPainter, plot: QRect) -> None:
        look, theme, fonts = self._look, self._look.theme, self._look.fonts
        lines = self._lines(self._bars[self._at])
        metrics, tall = QFontMetrics(fonts.second), QFontMetrics(fonts.second).height() + 4
        wide = max(metrics.horizontalAdvance(name) + metrics.horizontalAdvance(words) for _, name, words in lines) + 44
        size = QSize(min(wide + 2 * PAD, plot.width()), tall * len(lines) + 2 * PAD)
        beside = self._place(self._at)
        left = beside.right() + 8
        if left + size.width() > plot.right():
            left = beside.left() - 8 - size.width()
        card = QRect(QPoint(max(plot.left(), left), plot.top()), size)
        draw_frame(painter, card, 8, theme.raised, theme.strong_line)
        for row, (order, name, words) in enumerate(lines):
            line = QRect(card.left() + PAD, card.top() + PAD + row * tall, card.width() - 2 * PAD, tall)
            took = draw_right(painter, line, words, fonts.second, theme.text)
            left = line.left()
            if order >= 0:
                colour = ink(look, order, self._bars[self._at].parts[order].name)
                painter.fillRect(left, line.center().y() - 4, 8, 8, colour)
                left += 14
            room = QRect(left, line.top(), line.right() - took - 12 - left, tall)
            draw_line(painter, room, name, fonts.second, theme.second if order >= 0 else theme.text)

    # Qt

    def sizeHint(self) -> QSize:
        return QSize(400, self._look.size(HEIGHT))

    def paintEvent(self, event: QPaintEvent) -> None:
        plot = self._ground()
        with QPainter(self) as painter:
            self._paint_scale(painter, plot)
            for number in range(len(self._bars)):
                self._paint_bar(painter, number)
            self._paint_days(painter, plot)
            if self.hasFocus():
                draw_frame(painter, self.rect(), 6, None, self._look.theme.accent)
            if 0 <= self._at < len(self._bars):
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
        start = last if self._at < 0 and step < 0 else self._at + step
        self.point_at(min(max(start, 0), last))
        announce(self, self.said())
