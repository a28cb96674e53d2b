"""The list of memories: kind, sentence, strength, what it helped; walked by keys, painted row by row."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QFontMetrics, QKeyEvent, QPainter
from PySide6.QtWidgets import QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from ui.icons import pixmap
from ui.memory.rows import Line
from ui.memory.words import KIND_INKS
from ui.theme import Look, blend
from ui.widgets.paint import chip_width, draw_chip, draw_frame, draw_line, draw_right
from ui.widgets.tip import tip
from ui.widgets.words import ENTER_KEYS

ITEM: Final = Qt.ItemDataRole.UserRole
NOWHERE: Final = QModelIndex()
AnyIndex = QModelIndex | QPersistentModelIndex
INSET: Final = 20
KIND: Final = 108
BAR: Final = 56
PERCENT: Final = 38
HELPED: Final = 106
WHEN: Final = 48
GAP: Final = 10
NARROW: Final = 560  # pixels below which only the sentence and its strength are shown


class MemoryRows(QAbstractListModel):
    """Plain values; one line each."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lines: list[Line] = []

    def show(self, lines: Sequence[Line]) -> None:
        if list(lines) != self._lines:
            self.beginResetModel()
            self._lines = list(lines)
            self.endResetModel()

    def line(self, index: AnyIndex) -> Line | None:
        return self._lines[index.row()] if index.isValid() and index.row() < len(self._lines) else None

    def place(self, key: str) -> QModelIndex:
        """Where a line is; an invalid index when it is not there."""
        places = (self.index(at) for at, line in enumerate(self._lines) if line.key == key)
        return next(places, QModelIndex())

    # Qt

    def rowCount(self, parent: AnyIndex = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._lines)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        line = self.line(index)
        if line is None:
            return None
        match role:
            case Qt.ItemDataRole.AccessibleTextRole | Qt.ItemDataRole.DisplayRole:
                return line.spoken
            case Qt.ItemDataRole.ToolTipRole:
                return tip(line.text[:400])
            case _:
                return line if role == ITEM else None


class MemoryPainter(QStyledItemDelegate):
    """`shown` is the line on display, marked by a fill; the keyboard's place is outlined."""

    def __init__(self, look: Look, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.look, self.shown, self.keyboard = look, "", False

    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:
        fonts = self.look.fonts
        return QSize(200, QFontMetrics(fonts.text).height() + QFontMetrics(fonts.second).height() + 13)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        line, place, theme = index.data(ITEM), QRect(option.rect), self.look.theme
        state, flags = option.state, QStyle.StateFlag
        if not isinstance(line, Line):
            return
        if line.key == self.shown:
            painter.fillRect(place, theme.selection)
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


class MemoryList(QListView):
    """The arrows move and show; a click shows at once."""

    chosen = Signal(str)
    menu_wanted = Signal(QPoint)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rows = MemoryRows(self)
        self._painter = MemoryPainter(look, self)
        self._filling = False
        self.setObjectName("memory.list")
        self.setAccessibleName(self.tr("Memories"))
        self.setModel(self.rows)
        self.setItemDelegate(self._painter)
        self.setMouseTracking(True)
        self.setUniformItemSizes(True)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(lambda at: self.menu_wanted.emit(self.viewport().mapToGlobal(at)))
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
        line = self.rows.line(self.currentIndex())
        return line.key if line else ""

    def restyle(self, look: Look) -> None:
        self._painter.look = look
        self.scheduleDelayedItemsLayout()
        self.viewport().update()

    def _choose(self, index: QModelIndex) -> None:
        line = self.rows.line(index)
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
