"""Paints the rows in the list of sessions: group headings, and two lines for each session."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import QLineEdit, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from core.domain.sessions import SessionRow
from ui.sessions.session_rows import (
    WAITING,
    PageItem,
    SessionHeading,
    SessionLine,
    second_line,
    second_line_parts,
    session_icon,
    side_text,
    split_by_query,
)
from ui.sessions.sessions_model import Role
from ui.style.icons import pixmap
from ui.style.theme import Look, blend
from ui.text.visible import visible
from ui.widgets.paint import draw_frame, draw_line, draw_right_aligned, draw_selection

MARGIN: Final = 8
INSET: Final = 8
ICON: Final = 16
CHEVRON: Final = 12
TEXT_LEFT: Final = 40
HEADING_LEFT: Final = 14
GAP: Final = 8
DOT: Final = 8
RADIUS: Final = 6
# In the second line, these statuses are followed by a text that can be shortened too.
LONG_TEXT_STATUSES: Final = frozenset({"waiting", "running", "failed", "paused"})
PAGE_ICONS: Final[Mapping[str, str]] = MappingProxyType({"memory": "brain", "skills": "wrench"})


class SessionsDelegate(QStyledItemDelegate):
    """Paints headings and sessions.

    The session that is displayed is filled, and the focused row is outlined. If several rows are selected, all of them
    are filled and outlined.
    """

    def __init__(self, look: Look, *, home: str, clock: Callable[[], int], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.look = look
        self.current_session = ""
        self.unseen: frozenset[str] = frozenset()
        self.right_margin = MARGIN
        self.keyboard_used = False
        self.multiple_selected = False
        self._home = home
        self._clock = clock

    def row_height(self) -> int:
        fonts = self.look.fonts
        return QFontMetrics(fonts.strong).height() + QFontMetrics(fonts.second).height() + 15

    def heading_height(self) -> int:
        return QFontMetrics(self.look.fonts.label).height() + 18

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        heading = isinstance(index.data(Role.ITEM), SessionHeading)
        return QSize(200, self.heading_height() if heading else self.row_height())

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        item, rect = index.data(Role.ITEM), option.rect
        if isinstance(item, SessionHeading):
            self._paint_heading(painter, rect, item)
            if item.collapsible and self.keyboard_used and option.state & QStyle.StateFlag.State_HasFocus:
                frame = rect.adjusted(MARGIN, 6, -self.right_margin, 0)
                draw_frame(painter, frame, RADIUS, None, self.look.theme.accent)
        elif isinstance(item, SessionLine):
            self._paint_background(painter, rect, item.row.id == self.current_session, option.state)
            self._paint_line(painter, rect, item)
        elif isinstance(item, PageItem):
            self._paint_background(painter, rect, False, option.state)
            self._paint_page_item(painter, rect, item)

    # Sessions are renamed in place, with the editor that is configured here.

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
        """Do nothing, because updates of a running session must not overwrite what the user is typing."""

    def setModelData(
        self, editor: QWidget, model: QAbstractItemModel, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        if isinstance(editor, QLineEdit):
            model.setData(index, editor.text(), Qt.ItemDataRole.EditRole)

    def updateEditorGeometry(
        self, editor: QWidget, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        height = editor.sizeHint().height()
        text_rect = option.rect.adjusted(TEXT_LEFT - 10, 0, -self.right_margin - 2, 0)
        editor.setGeometry(QRect(text_rect.left(), text_rect.center().y() - height // 2, text_rect.width(), height))

    def _paint_heading(self, painter: QPainter, rect: QRect, heading: SessionHeading) -> None:
        theme, font = self.look.theme, self.look.fonts.label
        text_rect = rect.adjusted(HEADING_LEFT, 6, -self.right_margin - INSET, 0)
        if heading.collapsible:
            size = self.look.size(CHEVRON)
            name = "chevron-down" if heading.expanded else "chevron-right"
            glyph = pixmap(name, theme.third, size, painter.device().devicePixelRatio())
            painter.drawPixmap(QPoint(text_rect.left() - 2, text_rect.center().y() - size // 2 + 1), glyph)
            text_rect.setLeft(text_rect.left() + size + 2)
        title_width = draw_line(painter, text_rect, heading.title, font, theme.third)
        if heading.count:
            color = theme.waiting if heading.key == WAITING else theme.third
            draw_right_aligned(painter, text_rect.adjusted(title_width, 0, 0, 0), str(heading.count), font, color)

    def _paint_background(self, painter: QPainter, rect: QRect, is_current: bool, state: QStyle.StateFlag) -> None:
        theme = self.look.theme
        background_rect = rect.adjusted(MARGIN, 0, -self.right_margin, 0)
        if is_current:
            draw_selection(painter, background_rect, theme, RADIUS)
        elif self.multiple_selected and state & QStyle.StateFlag.State_Selected:
            draw_frame(painter, background_rect, RADIUS, theme.bubble, theme.accent)
        elif state & QStyle.StateFlag.State_MouseOver:
            draw_frame(painter, background_rect, RADIUS, blend(theme.selection, theme.panel, 0.5), None)
        if self.keyboard_used and state & QStyle.StateFlag.State_HasFocus:
            draw_frame(painter, background_rect, RADIUS, None, theme.accent)

    def _paint_line(self, painter: QPainter, rect: QRect, line: SessionLine) -> None:
        theme, fonts, row = self.look.theme, self.look.fonts, line.row
        title_height, second_height = QFontMetrics(fonts.strong).height(), QFontMetrics(fonts.second).height()
        top = rect.top() + (rect.height() - title_height - second_height - 1) // 2
        right = rect.right() - self.right_margin - INSET
        glyph_size = self.look.size(ICON)
        text_left = TEXT_LEFT + glyph_size - ICON
        title_rect = QRect(text_left, top, right - text_left, title_height)
        ratio = painter.device().devicePixelRatio()
        glyph = pixmap(session_icon(row), theme.status(row.status), glyph_size, ratio)
        painter.drawPixmap(QPoint(MARGIN + INSET, top + (title_height - glyph_size) // 2), glyph)
        age_text = side_text(row, self._clock())
        age_width = 0
        if age_text:
            age_width = draw_right_aligned(painter, title_rect, age_text, fonts.second, theme.third) + GAP
        if row.id in self.unseen:
            dot = self.look.size(DOT)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.accent)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.drawEllipse(QRect(right - age_width - dot, title_rect.center().y() - dot // 2, dot, dot))
            age_width += dot + GAP
        title_font = fonts.bold if row.id in self.unseen else fonts.strong
        draw_line(painter, title_rect.adjusted(0, 0, -age_width, 0), row.title, title_font, theme.text)
        second_rect = QRect(text_left, top + title_height + 1, right - text_left, second_height)
        if line.match:
            self._paint_match(painter, second_rect, line.match, line.query)
        else:
            draw_line(painter, second_rect, self._second_line(row, second_rect.width()), fonts.second, theme.third)

    def _paint_page_item(self, painter: QPainter, rect: QRect, item: PageItem) -> None:
        theme, fonts, size = self.look.theme, self.look.fonts, self.look.size(ICON)
        title_height, second_height = QFontMetrics(fonts.strong).height(), QFontMetrics(fonts.second).height()
        top, left = rect.top() + (rect.height() - title_height - second_height - 1) // 2, TEXT_LEFT + size - ICON
        width = rect.right() - self.right_margin - INSET - left
        glyph = pixmap(PAGE_ICONS[item.page], theme.learned, size, painter.device().devicePixelRatio())
        painter.drawPixmap(QPoint(MARGIN + INSET, top + (title_height - size) // 2), glyph)
        draw_line(painter, QRect(left, top, width, title_height), item.title, fonts.strong, theme.text)
        match_rect = QRect(left, top + title_height + 1, width, second_height)
        self._paint_match(painter, match_rect, item.match, item.query)

    def _paint_match(self, painter: QPainter, rect: QRect, match: str, query: str) -> None:
        """Paint the excerpt of a full-text match, with the words of the query highlighted."""
        theme, font = self.look.theme, self.look.fonts.second
        rect = QRect(rect)
        for text, is_match in split_by_query(match, query):
            if rect.width() > 0:
                color = theme.accent if is_match else theme.third
                rect.setLeft(rect.left() + draw_line(painter, rect, text, font, color))

    def _second_line(self, row: SessionRow, text_width: int) -> str:
        """Return the second line of a session. If it does not fit, the folder gives way to what follows it."""
        metrics, text = QFontMetrics(self.look.fonts.second), visible(second_line(row, self._home))
        if metrics.horizontalAdvance(text) <= text_width:
            return text
        place, activity = map(visible, second_line_parts(row, self._home, short=True))
        place_width = text_width - metrics.horizontalAdvance(f" · {activity}")
        if row.status in LONG_TEXT_STATUSES:
            place_width = max(place_width, text_width // 3)
        shortened = metrics.elidedText(place, Qt.TextElideMode.ElideRight, max(0, place_width))
        return " · ".join(filter(None, (shortened, activity)))
