"""The list of memories and proposals, with columns for kind, text, relevance, usage and day."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import (
    QModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QFontMetrics, QKeyEvent, QPainter
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem, QWidget

from ui.memory.memory_lines import MemoryLine
from ui.memory.texts import KIND_COLORS
from ui.style.icons import pixmap
from ui.style.theme import Look, blend
from ui.widgets.item_list import ITEM_ROLE, AnyIndex, ItemDelegate, ItemListModel, ItemListView
from ui.widgets.labels import ENTER_KEYS
from ui.widgets.paint import chip_width, draw_chip, draw_frame, draw_line, draw_right_aligned, draw_selection

INSET: Final = 20
KIND_WIDTH: Final = 108
BAR_WIDTH: Final = 56
PERCENT_WIDTH: Final = 38
USAGE_WIDTH: Final = 106
DAY_WIDTH: Final = 48
GAP: Final = 10
NARROW_WIDTH: Final = 560  # pixels; a narrower list shows only the text and the relevance


class MemoryListModel(ItemListModel[MemoryLine]):
    def key_of(self, item: MemoryLine) -> str:
        return item.key

    def accessible_text(self, item: MemoryLine) -> str:
        return item.accessible_text

    def tooltip_of(self, item: MemoryLine) -> str:
        return item.text


class MemoryDelegate(ItemDelegate):
    """Paints a memory or proposal: its kind, two lines of text, and its figures in columns."""

    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:
        fonts = self.look.fonts
        return QSize(200, QFontMetrics(fonts.text).height() + QFontMetrics(fonts.second).height() + 13)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        line, rect, theme = index.data(ITEM_ROLE), QRect(option.rect), self.look.theme
        state, flags = option.state, QStyle.StateFlag
        if not isinstance(line, MemoryLine):
            return
        if line.key == self.shown_key:
            draw_selection(painter, rect, theme)
        elif state & flags.State_MouseOver:
            painter.fillRect(rect, blend(theme.selection, theme.background, 0.5))
        painter.fillRect(rect.left(), rect.bottom(), rect.width(), 1, theme.line)
        if self.keyboard_focus and state & flags.State_HasFocus:
            draw_frame(painter, rect.adjusted(3, 2, -3, -3), 6, None, theme.accent)
        self._paint_line(painter, rect.adjusted(self.look.size(INSET), 0, -self.look.size(INSET), -1), line)

    def _paint_line(self, painter: QPainter, rect: QRect, line: MemoryLine) -> None:
        look, theme, fonts = self.look, self.look.theme, self.look.fonts
        text_height, subtitle_height = QFontMetrics(fonts.text).height(), QFontMetrics(fonts.second).height()
        top = rect.top() + (rect.height() - text_height - subtitle_height - 1) // 2
        left, right = rect.left(), rect.right()
        if rect.width() >= look.size(NARROW_WIDTH):
            color = theme.color(KIND_COLORS.get(line.kind, "learned"))
            kind_width = look.size(KIND_WIDTH)
            self._paint_kind(painter, QRect(left, rect.top(), kind_width - GAP, rect.height()), line.title, color)
            left += kind_width
            right = self._paint_figures(painter, rect, line, color)
        elif line.relevance is not None:
            right -= draw_right_aligned(painter, rect, _percent(line.relevance), fonts.second, theme.second) + GAP
        self._paint_text(painter, QRect(left, top, right - left, text_height), line)
        subtitle_rect = QRect(left, top + text_height + 1, right - left, subtitle_height)
        draw_line(painter, subtitle_rect, line.subtitle, fonts.second, theme.third)

    def _paint_text(self, painter: QPainter, rect: QRect, line: MemoryLine) -> None:
        """Paint the text after the chip and the icon of a pinned memory."""
        look, theme, fonts = self.look, self.look.theme, self.look.fonts
        text_rect = QRect(rect)
        if line.chip:
            width = chip_width(line.chip, fonts.caption)
            chip_rect = QRect(rect.left(), rect.top(), width, rect.height())
            draw_chip(painter, chip_rect, line.chip, fonts.caption, theme.learned, theme.strong_line)
            text_rect.setLeft(rect.left() + width + 6)
        if line.pinned:
            size = look.size(12)
            pin = pixmap("pin", theme.second, size, painter.device().devicePixelRatio())
            painter.drawPixmap(QPoint(text_rect.left(), rect.top() + (rect.height() - size) // 2), pin)
            text_rect.setLeft(text_rect.left() + size + 5)
        draw_line(painter, text_rect, line.text, fonts.text, theme.text)

    def _paint_kind(self, painter: QPainter, rect: QRect, title: str, color: QColor) -> None:
        dot = QRect(rect.left(), rect.center().y() - 3, 8, 8)
        draw_frame(painter, dot, 4, color, None)
        draw_line(painter, rect.adjusted(14, 0, 0, 0), title, self.look.fonts.strong, color)

    def _paint_figures(self, painter: QPainter, rect: QRect, line: MemoryLine, color: QColor) -> int:
        """Paint relevance, usage and day in columns at the right; return the x coordinate where they begin."""
        look, theme, font = self.look, self.look.theme, self.look.fonts.second
        box = QRect(rect.right() - look.size(DAY_WIDTH) + 1, rect.top(), look.size(DAY_WIDTH), rect.height())
        draw_right_aligned(painter, box, line.day, font, theme.second)
        if line.relevance is None:
            return box.left() - GAP
        box.moveLeft(box.left() - look.size(USAGE_WIDTH) - GAP)
        box.setWidth(look.size(USAGE_WIDTH))
        draw_line(painter, box, line.usage, font, theme.second)
        box.moveLeft(box.left() - look.size(PERCENT_WIDTH) - GAP)
        box.setWidth(look.size(PERCENT_WIDTH))
        draw_line(painter, box, _percent(line.relevance), font, theme.second)
        bar_width = look.size(BAR_WIDTH)
        bar = QRect(box.left() - bar_width - 6, rect.center().y() - 2, bar_width, 5)
        draw_frame(painter, bar, 2.5, theme.strong_line, None)
        if filled_width := round(bar_width * line.relevance):
            draw_frame(painter, QRect(bar.left(), bar.top(), max(5, filled_width), 5), 2.5, color, None)
        return bar.left() - 2 * GAP


def _percent(relevance: float) -> str:
    return f"{round(relevance * 100)}%"


def _is_page_shortcut(event: QKeyEvent) -> bool:
    """Return whether a key may be a shortcut of the page: Delete, plus, minus, or a letter without modifier."""
    if event.key() in {Qt.Key.Key_Delete, Qt.Key.Key_Plus, Qt.Key.Key_Minus}:
        return True
    return event.text().isalpha() and not event.modifiers()


class MemoryList(ItemListView):
    """A list that opens a memory or proposal as soon as it becomes the current item, by an arrow key or a click."""

    chosen = Signal(str)  # key of the chosen memory or proposal

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        self.rows = MemoryListModel()
        super().__init__("memory.list", self.rows, MemoryDelegate(look), parent)
        self._filling = False
        self.setAccessibleName(self.tr("Memories"))
        self.setUniformItemSizes(True)
        self.selectionModel().currentChanged.connect(lambda index, _: self._choose(index))

    def show_lines(self, lines: Sequence[MemoryLine], open_key: str) -> None:
        """Replace the lines without scrolling, and mark the line with the key `open_key`."""
        bar = self.verticalScrollBar().value()
        self._filling = True
        self.rows.show(lines)
        self.mark_open(open_key)
        self._filling = False
        self.verticalScrollBar().setValue(bar)

    def mark_open(self, key: str) -> None:
        """Mark the line that is open beside the list, and make it the current one."""
        self._painter.shown_key = key
        index = self.rows.index_of(key)
        if index != self.currentIndex():
            self.setCurrentIndex(index)
        self.viewport().update()

    def current_key(self) -> str:
        line = self.rows.item(self.currentIndex())
        return line.key if line else ""

    def _choose(self, index: QModelIndex) -> None:
        line = self.rows.item(index)
        if line and not self._filling and line.key != self._painter.shown_key:
            self.chosen.emit(line.key)

    # Overridden Qt methods

    def keyPressEvent(self, event: QKeyEvent) -> None:
        self._painter.keyboard_focus = True
        if not self.currentIndex().isValid() and event.key() in {Qt.Key.Key_Down, Qt.Key.Key_Home, *ENTER_KEYS}:
            self.setCurrentIndex(self.rows.index(0))
            event.accept()
        elif _is_page_shortcut(event):
            event.ignore()  # leaves the shortcut to the page, because Qt would search the list for the letter
        else:
            super().keyPressEvent(event)
