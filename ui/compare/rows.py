"""Two runs as one list: the model, and how a line is painted."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from core.domain.steps import Step
from core.timeline.align import Alignment
from ui.compare.lines import Line, lines, same
from ui.compare.words import figure, fold_words, name, number, spoken
from ui.icons import pixmap
from ui.looks import kind_look, status_look
from ui.theme import Look, blend
from ui.widgets.paint import draw_chosen, draw_line, draw_right

Index = QModelIndex | QPersistentModelIndex
TOP: Final = QModelIndex()
EDGE: Final = 20
ICON: Final = 16
MIDDLE: Final = 84  # the numbers between both sides
TINT: Final = 0.10


class PairRows(QAbstractListModel):
    """Equal steps are folded until somebody opens them."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.found: Alignment | None = None
        self._lines: Sequence[Line] = ()
        self._opened: set[int] = set()

    def show_alignment(self, found: Alignment | None) -> None:
        self._opened.clear()
        self.found = found
        self._arrange()

    def turn(self, row: int) -> None:
        """Open the equal steps of this line, or fold them again."""
        line = self._lines[row]
        if line.pair is None and line.steps:
            self._opened ^= {line.place}
            self._arrange()

    def line(self, row: int) -> Line:
        return self._lines[row]

    def first(self) -> int:
        """The row above the first difference; -1 where there is none."""
        return next((row for row, line in enumerate(self._lines) if line.first), -1)

    def _arrange(self) -> None:
        self.beginResetModel()
        self._lines = lines(self.found, self._opened) if self.found else ()
        self.endResetModel()

    # Qt

    def rowCount(self, parent: Index = TOP) -> int:
        return 0 if parent.isValid() else len(self._lines)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        said = role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole)
        return spoken(self._lines[index.row()], self.found) if said and index.isValid() and self.found else None


class PairPainter(QStyledItemDelegate):
    """Left run, numbers, right run; what differs has a sign as well as a ground."""

    def __init__(self, look: Look, model: PairRows) -> None:
        super().__init__(model)
        self.look, self._model = look, model

    def height(self) -> int:
        return QFontMetrics(self.look.fonts.text).height() + 14

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(600, self.height())

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        found, line, place = self._model.found, self._model.line(index.row()), option.rect
        if found is None:
            return
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        if line.pair is None:
            self._paint_fold(painter, place, fold_words(line, found), line, chosen)
            return
        theme = self.look.theme
        if chosen:
            draw_chosen(painter, place, theme)
        elif not same(line.pair):
            token = theme.waiting if line.pair.a and line.pair.b else theme.failed
            painter.fillRect(place, blend(token, theme.background, TINT))
        middle = place.center().x()
        half = self.look.size(MIDDLE) // 2
        left = QRect(place.left() + EDGE, place.top(), middle - half - place.left() - EDGE, place.height())
        right = QRect(middle + half, place.top(), place.right() - EDGE - middle - half, place.height())
        self._paint_side(painter, left, line.pair.a)
        self._paint_side(painter, right, line.pair.b)
        said = number(line.pair) if same(line.pair) else f"{number(line.pair)}  ≠"
        painter.setFont(self.look.fonts.second)
        painter.setPen(theme.third if same(line.pair) else theme.waiting)
        painter.drawText(QRect(left.right(), place.top(), right.left() - left.right(), place.height()),
                         Qt.AlignmentFlag.AlignCenter, said)  # fmt: skip

    def _paint_side(self, painter: QPainter, room: QRect, step: Step | None) -> None:
        look, theme, fonts = self.look, self.look.theme, self.look.fonts
        if step is None:
            draw_line(painter, room, "—", fonts.text, theme.third)
            return
        size, kind = look.size(ICON), kind_look(step.kind)
        glyph = pixmap(kind.icon, theme.colour(kind.token), size, painter.device().devicePixelRatio())
        top = room.center().y() - size // 2
        painter.drawPixmap(room.left(), top, glyph)
        right = room.right()
        if step.status != "done":
            status = status_look(step.status)
            drawn = pixmap(status.icon, theme.colour(status.token), size, painter.device().devicePixelRatio())
            painter.drawPixmap(right - size, top, drawn)
            right -= size + 8
        place = QRect(room.left(), room.top(), right - room.left(), room.height())
        right -= draw_right(painter, place, figure(step), fonts.second, theme.third) + 12
        left = room.left() + size + 8
        left += draw_line(
            painter, QRect(left, room.top(), right - left, room.height()), name(step), fonts.strong, theme.text
        )
        rest = QRect(left + 8, room.top(), right - left - 8, room.height())
        if rest.width() > 16:
            draw_line(painter, rest, step.object, fonts.mono, theme.second)

    def _paint_fold(self, painter: QPainter, place: QRect, said: str, line: Line, chosen: bool) -> None:
        look, theme, font = self.look, self.look.theme, self.look.fonts.second
        ink = theme.waiting if line.first else theme.second
        if chosen:
            draw_chosen(painter, place, theme)
        size = look.size(ICON) if line.steps else 0
        width = QFontMetrics(font).horizontalAdvance(said) + size + (6 if size else 0)
        left, y = place.center().x() - width // 2, place.center().y()
        painter.setPen(QPen(blend(ink, theme.background, 0.5), 1, Qt.PenStyle.DashLine))
        painter.drawLine(place.left() + EDGE, y, left - 10, y)
        painter.drawLine(left + width + 10, y, place.right() - EDGE, y)
        if size:
            arrow = "chevron-down" if line.open else "chevron-right"
            painter.drawPixmap(left, y - size // 2, pixmap(arrow, ink, size, painter.device().devicePixelRatio()))
            left += size + 6
        draw_line(painter, QRect(left, place.top(), width, place.height()), said, font, ink)
