"""The list of memories: kind, sentence, strength, what it helped; walked by keys, painted row by row."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import (
    QModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
)
from PySide6.QtGui import QColor, QFontMetrics, QKeyEvent, QPainter
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem, QWidget

from ui.icons import pixmap
from ui.memory.rows import Line
from ui.memory.words import KIND_INKS
from ui.theme import Look, blend
from ui.widgets.lines import ITEM, AnyIndex, LineList, LinePainter, Rows
from ui.widgets.paint import chip_width, draw_chip, draw_chosen, draw_frame, draw_line, draw_right
from ui.widgets.words import ENTER_KEYS

INSET: Final = 20
KIND: Final = 108
BAR: Final = 56
PERCENT: Final = 38
HELPED: Final = 106
WHEN: Final = 48
GAP: Final = 10
NARROW: Final = 560  # pixels below which only the sentence and its strength are shown


class MemoryRows(Rows[Line]):
    def key(self, item: Line) -> str:
        return item.key

    def spoken(self, item: Line) -> str:
        return item.spoken

    def tip(self, item: Line) -> str:
        return item.text


class MemoryPainter(LinePainter):
    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:
        fonts = self.look.fonts
        return QSize(200, QFontMetrics(fonts.text).height() + QFontMetrics(fonts.second).height() + 13)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        line, place, theme = index.data(ITEM), QRect(option.rect), self.look.theme
        state, flags = option.state, QStyle.StateFlag
        if not isinstance(line, Line):
            return
        if line.key == self.shown:
            draw_chosen(painter, place, theme)
        elif state & flags.State_MouseOver:
            painter.fillRect(place, blend(theme.selection, theme.background, 0.5))
        painter.fillRect(place.left(), place.bottom(), place.width(), 1, theme.line)
        if self.keyboard and state & flags.State_HasFocus:
            draw_frame(painter, place.adjusted(3, 2, -3, -3), 6, None, theme.accent)
        self._paint_line(painter, place.adjusted(self.look.size(INSET), 0, -self.look.size(INSET), -1), line)

    def _paint_line(self, painter: QPainter, place: QRect, line: Line) -> None:
        look, theme, fonts = self.look, self.look.theme, self.look.fonts
        above, below = QFontMetrics(fonts.text).height(), QFontMetrics(fonts.second).height()
        top = place.top() + (place.height() - above - below - 1) // 2
        left, right = place.left(), place.right()
        if place.width() >= look.size(NARROW):
            ink = theme.colour(KIND_INKS.get(line.kind, "learned"))
            self._paint_kind(painter, QRect(left, place.top(), look.size(KIND) - GAP, place.height()), line.title, ink)
            left += look.size(KIND)
            right = self._paint_figures(painter, place, line, ink)
        elif line.strength >= 0:
            box = QRect(place.left(), place.top(), place.width(), place.height())
            right -= draw_right(painter, box, _percent(line.strength), fonts.second, theme.second) + GAP
        text = QRect(left, top, right - left, above)
        if line.chip:
            wide = chip_width(line.chip, fonts.caption)
            draw_chip(
                painter, QRect(left, top, wide, above), line.chip, fonts.caption, theme.learned, theme.strong_line
            )
            text.setLeft(left + wide + 6)
        if line.pinned:
            size = look.size(12)
            drawn = pixmap("pin", theme.second, size, painter.device().devicePixelRatio())
            painter.drawPixmap(QPoint(text.left(), top + (above - size) // 2), drawn)
            text.setLeft(text.left() + size + 5)
        draw_line(painter, text, line.text, fonts.text, theme.text)
        draw_line(painter, QRect(left, top + above + 1, right - left, below), line.under, fonts.second, theme.third)

    def _paint_kind(self, painter: QPainter, place: QRect, title: str, ink: QColor) -> None:
        dot = QRect(place.left(), place.center().y() - 3, 8, 8)
        draw_frame(painter, dot, 4, ink, None)
        draw_line(painter, place.adjusted(14, 0, 0, 0), title, self.look.fonts.strong, ink)

    def _paint_figures(self, painter: QPainter, place: QRect, line: Line, ink: QColor) -> int:
        """Strength, help and day in columns from the right; where they begin."""
        look, theme, font = self.look, self.look.theme, self.look.fonts.second
        box = QRect(place.right() - look.size(WHEN) + 1, place.top(), look.size(WHEN), place.height())
        draw_right(painter, box, line.when, font, theme.second)
        if line.strength < 0:
            return box.left() - GAP
        box.moveLeft(box.left() - look.size(HELPED) - GAP)
        box.setWidth(look.size(HELPED))
        draw_line(painter, box, line.helped, font, theme.second)
        box.moveLeft(box.left() - look.size(PERCENT) - GAP)
        box.setWidth(look.size(PERCENT))
        draw_line(painter, box, _percent(line.strength), font, theme.second)
        wide = look.size(BAR)
        bar = QRect(box.left() - wide - 6, place.center().y() - 2, wide, 5)
        draw_frame(painter, bar, 2.5, theme.strong_line, None)
        if filled := round(wide * line.strength):
            draw_frame(painter, QRect(bar.left(), bar.top(), max(5, filled), 5), 2.5, ink, None)
        return bar.left() - 2 * GAP


def _percent(strength: float) -> str:
    return f"{round(strength * 100)}%"


class MemoryList(LineList):
    """The arrows move and show; a click shows at once."""

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        self.rows = MemoryRows()
        super().__init__("memory.list", self.rows, MemoryPainter(look), parent)
        self._filling = False
        self.setAccessibleName(self.tr("Memories"))
        self.setUniformItemSizes(True)
        self.selectionModel().currentChanged.connect(lambda index, _: self._choose(index))

    def show_lines(self, lines: Sequence[Line], shown: str) -> None:
        """The line `shown` stays where the eye is."""
        bar = self.verticalScrollBar().value()
        self._filling = True
        self.rows.show(lines)
        self.mark(shown)
        self._filling = False
        self.verticalScrollBar().setValue(bar)

    def mark(self, key: str) -> None:
        """The line that is shown beside the list."""
        self._painter.shown = key
        place = self.rows.place(key)
        if place != self.currentIndex():
            self.setCurrentIndex(place)
        self.viewport().update()

    def key(self) -> str:
        line = self.rows.item(self.currentIndex())
        return line.key if line else ""

    def _choose(self, index: QModelIndex) -> None:
        line = self.rows.item(index)
        if line and not self._filling and line.key != self._painter.shown:
            self.chosen.emit(line.key)

    # Qt

    def keyPressEvent(self, event: QKeyEvent) -> None:
        self._painter.keyboard = True
        if not self.currentIndex().isValid() and event.key() in {Qt.Key.Key_Down, Qt.Key.Key_Home, *ENTER_KEYS}:
            self.setCurrentIndex(self.rows.index(0))
            event.accept()
        elif event.key() == Qt.Key.Key_Delete or (event.text().isalpha() and not event.modifiers()):
            event.ignore()  # letters are deeds of the page, no search by first letters
        else:
            super().keyPressEvent(event)
