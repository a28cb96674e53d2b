"""Paints the list of sessions: quiet headings, and two lines for each session."""

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import QLineEdit, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from core.domain.sessions import SessionRow
from ui.icons import pixmap, status_icon
from ui.sessions.model import Role
from ui.sessions.rows import WAITING, Heading, Line, second_line, side_text
from ui.theme import Look, blend
from ui.widgets.paint import draw_chosen, draw_frame, draw_line, draw_right

MARGIN: Final = 8
INSET: Final = 8
ICON: Final = 16
CHEVRON: Final = 12
TEXT_LEFT: Final = 40
HEADING_LEFT: Final = 14
GAP: Final = 8
RADIUS: Final = 6


class SessionsDelegate(QStyledItemDelegate):
    """`shown` is the session on display: marked by a fill, apart from the keyboard's place, which is outlined.
    `several` are selected: each of them is filled and outlined."""

    def __init__(self, look: Look, *, home: str, clock: Callable[[], int], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.look, self.shown = look, ""
        self.right_margin = MARGIN
        self.keyboard = self.several = False
        self._home, self._clock = home, clock

    def row_height(self) -> int:
        fonts = self.look.fonts
        return QFontMetrics(fonts.strong).height() + QFontMetrics(fonts.second).height() + 15

    def heading_height(self) -> int:
        return QFontMetrics(self.look.fonts.label).height() + 18

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        heading = isinstance(index.data(Role.ITEM), Heading)
        return QSize(200, self.heading_height() if heading else self.row_height())

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        item, place = index.data(Role.ITEM), option.rect
        if isinstance(item, Heading):
            self._paint_heading(painter, place, item)
            if item.folds and self.keyboard and option.state & QStyle.StateFlag.State_HasFocus:
                frame = place.adjusted(MARGIN, 6, -self.right_margin, 0)
                draw_frame(painter, frame, RADIUS, None, self.look.theme.accent)
        elif isinstance(item, Line):
            self._paint_ground(painter, place, item, option.state)
            self._paint_line(painter, place, item)

    # A new name is written where the old one stands.

    def createEditor(
        self, parent: QWidget, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QWidget:
        field = QLineEdit(parent)
        field.setObjectName("sessions.rename")
        field.setAccessibleName(self.tr("Name of the session"))
        field.setFont(self.look.fonts.text)
        field.setText(str(index.data(Qt.ItemDataRole.EditRole)))
        field.selectAll()
        return field

    def setEditorData(self, editor: QWidget, index: QModelIndex | QPersistentModelIndex) -> None:
        """Nothing: a session that runs changes all the time, and must not take away what is being typed."""

    def setModelData(
        self, editor: QWidget, model: QAbstractItemModel, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        if isinstance(editor, QLineEdit):
            model.setData(index, editor.text(), Qt.ItemDataRole.EditRole)

    def updateEditorGeometry(
        self, editor: QWidget, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        height = editor.sizeHint().height()
        place = option.rect.adjusted(TEXT_LEFT - 10, 0, -self.right_margin - 2, 0)
        editor.setGeometry(QRect(place.left(), place.center().y() - height // 2, place.width(), height))

    def _paint_heading(self, painter: QPainter, place: QRect, heading: Heading) -> None:
        theme, font = self.look.theme, self.look.fonts.label
        bottom = place.adjusted(HEADING_LEFT, 6, -self.right_margin - INSET, 0)
        if heading.folds:
            size = self.look.size(CHEVRON)
            name = "chevron-down" if heading.opened else "chevron-right"
            glyph = pixmap(name, theme.third, size, painter.device().devicePixelRatio())
            painter.drawPixmap(QPoint(bottom.left() - 2, bottom.center().y() - size // 2 + 1), glyph)
            bottom.setLeft(bottom.left() + size + 2)
        left = draw_line(painter, bottom, heading.title, font, theme.third)
        if heading.count:
            ink = theme.waiting if heading.key == WAITING else theme.third
            draw_right(painter, bottom.adjusted(left, 0, 0, 0), str(heading.count), font, ink)

    def _paint_ground(self, painter: QPainter, place: QRect, line: Line, state: QStyle.StateFlag) -> None:
        theme = self.look.theme
        ground = place.adjusted(MARGIN, 0, -self.right_margin, 0)
        if line.row.id == self.shown:
            draw_chosen(painter, ground, theme, RADIUS)
        elif self.several and state & QStyle.StateFlag.State_Selected:
            draw_frame(painter, ground, RADIUS, theme.bubble, theme.accent)
        elif state & QStyle.StateFlag.State_MouseOver:
            draw_frame(painter, ground, RADIUS, blend(theme.selection, theme.panel, 0.5), None)
        if self.keyboard and state & QStyle.StateFlag.State_HasFocus:
            draw_frame(painter, ground, RADIUS, None, theme.accent)

    def _paint_line(self, painter: QPainter, place: QRect, line: Line) -> None:
        theme, fonts, row = self.look.theme, self.look.fonts, line.row
        above, below = QFontMetrics(fonts.strong).height(), QFontMetrics(fonts.second).height()
        top = place.top() + (place.height() - above - below - 1) // 2
        right = place.right() - self.right_margin - INSET
        glyph_size = self.look.size(ICON)
        left = TEXT_LEFT + glyph_size - ICON
        first = QRect(left, top, right - left, above)
        ratio = painter.device().devicePixelRatio()
        wants = row.status == "waiting" and row.doing_kind == "consent"
        shown = "shield-question-mark" if wants else status_icon(row.status)
        glyph = pixmap(shown, theme.status(row.status), glyph_size, ratio)
        painter.drawPixmap(QPoint(MARGIN + INSET, top + (above - glyph_size) // 2), glyph)
        side = side_text(row, self._clock())
        taken = draw_right(painter, first, side, fonts.second, theme.third) + GAP if side else 0
        draw_line(painter, first.adjusted(0, 0, -taken, 0), row.title, fonts.strong, theme.text)
        under = QRect(left, top + above + 1, right - left, below)
        draw_line(painter, under, line.found or self._said(row, under.width()), fonts.second, theme.third)

    def _said(self, row: SessionRow, room: int) -> str:
        """A long folder gives way, so that what is asked or done can be read."""
        said = second_line(row, self._home)
        fits = QFontMetrics(self.look.fonts.second).horizontalAdvance(said) <= room
        return said if fits else second_line(row, self._home, short=True)
