"""The list of skills: groups with two lines for each skill, found by words, walked by keys."""

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
from PySide6.QtGui import QFontMetrics, QKeyEvent, QPainter
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem, QWidget

from ui.icons import pixmap
from ui.skills.rows import ARCHIVED, Heading, Item, Line, Proposed, chip, second_line, spoken
from ui.theme import Look, blend
from ui.widgets.lines import ITEM, AnyIndex, LineList, LinePainter, Rows
from ui.widgets.paint import chip_width, draw_chip, draw_chosen, draw_frame, draw_line, draw_right
from ui.widgets.words import ENTER_KEYS

MARGIN: Final = 8
INSET: Final = 8
ICON: Final = 16
SMALL: Final = 12
LEFT: Final = 40


def key_of(item: Item | None) -> str:
    """What names a line: a skill's key, or the id of a proposal."""
    match item:
        case Line():
            return item.row.key
        case Proposed():
            return f"proposal/{item.id}"
        case Heading():
            return f"group/{item.key}"
        case _:
            return ""


class SkillRows(Rows[Item]):
    """Headings cannot be chosen."""

    def key(self, item: Item) -> str:
        return key_of(item)

    def spoken(self, item: Item) -> str:
        return spoken(item)

    def tip(self, item: Item) -> str:
        return item.row.description if isinstance(item, Line) else ""

    def first(self) -> QModelIndex:
        """The first line that is no heading."""
        places = (self.index(at) for at, item in enumerate(self.all) if not isinstance(item, Heading))
        return next(places, QModelIndex())

    # Qt

    def flags(self, index: AnyIndex) -> Qt.ItemFlag:
        item, flag = self.item(index), Qt.ItemFlag
        if item is None or (isinstance(item, Heading) and not item.folds):
            return flag.NoItemFlags
        return flag.ItemIsEnabled | flag.ItemIsSelectable | flag.ItemNeverHasChildren


class SkillPainter(LinePainter):
    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:
        fonts = self.look.fonts
        if isinstance(index.data(ITEM), Heading):
            return QSize(200, QFontMetrics(fonts.label).height() + 18)
        return QSize(200, QFontMetrics(fonts.strong).height() + QFontMetrics(fonts.second).height() + 15)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        item, place, theme = index.data(ITEM), QRect(option.rect), self.look.theme
        ground = place.adjusted(MARGIN, 0, -MARGIN, 0)
        state, flags = option.state, QStyle.StateFlag
        if not isinstance(item, Heading):
            if key_of(item) == self.shown:
                draw_chosen(painter, ground, theme, 6)
            elif state & flags.State_MouseOver:
                draw_frame(painter, ground, 6, blend(theme.selection, theme.panel, 0.5), None)
        if self.keyboard and state & flags.State_HasFocus:
            draw_frame(painter, ground, 6, None, theme.accent)
        match item:
            case Heading():
                self._heading(painter, place, item)
            case Proposed():
                said = " · ".join(part for part in (item.what, item.about) if part)
                self._line(painter, place, item.target, said, (self.tr("review"), "learned"), ())
            case Line():
                row = item.row
                marks = [name for name, on in (("pin", row.pinned), ("pencil", item.unsaved)) if on]
                self._line(painter, place, row.name, second_line(row), chip(row), marks, quiet=row.state != "on")
            case _:
                pass

    def _heading(self, painter: QPainter, place: QRect, heading: Heading) -> None:
        theme, font = self.look.theme, self.look.fonts.label
        box = place.adjusted(14, 6, -MARGIN - INSET, 0)
        if heading.folds:
            size, name = self.look.size(SMALL), "chevron-down" if heading.opened else "chevron-right"
            drawn = pixmap(name, theme.third, size, painter.device().devicePixelRatio())
            painter.drawPixmap(QPoint(box.left() - 2, box.center().y() - size // 2 + 1), drawn)
            box.setLeft(box.left() + size + 2)
        count = draw_right(painter, box, str(heading.count), font, theme.learned) + 8 if heading.count else 0
        draw_line(painter, box.adjusted(0, 0, -count, 0), heading.title, font, theme.third)

    def _line(
        self,
        painter: QPainter,
        place: QRect,
        title: str,
        said: str,
        word: tuple[str, str],
        marks: Sequence[str],
        *,
        quiet: bool = False,
    ) -> None:
        theme, fonts = self.look.theme, self.look.fonts
        above, below = QFontMetrics(fonts.strong).height(), QFontMetrics(fonts.second).height()
        top = place.top() + (place.height() - above - below - 1) // 2
        size, ratio = self.look.size(ICON), painter.device().devicePixelRatio()
        painter.drawPixmap(
            QPoint(place.left() + MARGIN + INSET, top + (above - size) // 2),
            pixmap("wrench", theme.third if quiet else theme.second, size, ratio),
        )
        left, right = place.left() + LEFT + size - ICON, place.right() - MARGIN - INSET
        if word[0]:
            wide = chip_width(word[0], fonts.caption)
            box = QRect(right - wide, top, wide, above)
            draw_chip(painter, box, word[0], fonts.caption, theme.colour(word[1]), theme.strong_line)
            right -= wide + 8
        for mark in marks:
            side = self.look.size(SMALL)
            drawn = pixmap(mark, theme.second, side, ratio)
            painter.drawPixmap(QPoint(right - side, top + (above - side) // 2), drawn)
            right -= side + 6
        ink = theme.second if quiet else theme.text
        draw_line(painter, QRect(left, top, right - left, above), title, fonts.strong, ink)
        under = QRect(left, top + above + 1, place.right() - MARGIN - INSET - left, below)
        draw_line(painter, under, said, fonts.second, theme.third)


class SkillList(LineList):
    """The arrows move, Enter chooses; a click chooses at once."""

    turned = Signal()

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        self.rows = SkillRows()
        super().__init__("skills.list", self.rows, SkillPainter(look), parent)
        self.setAccessibleName(self.tr("Skills"))
        self.setUniformItemSizes(False)
        self.clicked.connect(self._choose)

    def show_items(self, items: Sequence[Item]) -> None:
        kept = key_of(self.rows.item(self.currentIndex()))
        bar = self.verticalScrollBar().value()
        self.rows.show(items)
        place = self.rows.place(kept or self._painter.shown)
        if place.isValid():
            self.setCurrentIndex(place)
        self.verticalScrollBar().setValue(bar)

    def mark(self, key: str) -> None:
        """The line that is shown beside the list."""
        self._painter.shown = key
        place = self.rows.place(key)
        if place.isValid():
            self.setCurrentIndex(place)
        self.viewport().update()

    def current(self) -> Item | None:
        return self.rows.item(self.currentIndex())

    def _choose(self, index: QModelIndex) -> None:
        item = self.rows.item(index)
        if isinstance(item, Heading) and item.key == ARCHIVED:
            self.turned.emit()
        elif item is not None and not isinstance(item, Heading):
            self.chosen.emit(key_of(item))

    # Qt

    def keyPressEvent(self, event: QKeyEvent) -> None:
        self._painter.keyboard = True
        if not self.currentIndex().isValid() and event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Home):
            self.setCurrentIndex(self.rows.first())
        elif event.key() in ENTER_KEYS and self.currentIndex().isValid():
            self._choose(self.currentIndex())
        else:
            super().keyPressEvent(event)
            return
        event.accept()
