"""Paints the lines of a diff, and the headers of its hunks with links to keep or revert a hunk."""

from typing import Final, NamedTuple

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from core.timeline.text_diff import DiffRow, TextDiff
from ui.diff.diff_rows import COMMENT, MORE_LINES, DiffTableModel, unchanged_lines_text
from ui.diff.line_texts import LineTexts
from ui.style.icons import pixmap
from ui.style.theme import Look, blend
from ui.widgets.paint import draw_frame, draw_line

ROW_HEIGHT: Final = 20
NUMBER_WIDTH: Final = 46
SIGN_WIDTH: Final = 24
TINT: Final = 0.14  # opacity of the color behind added and removed lines
SELECTION_TINT: Final = 0.22  # opacity of the color behind selected lines
LINK_GAP: Final = 18  # pixels between two links
BUTTON: Final = 16  # pixels; size of the button that adds a comment
SIGN_FLAGS: Final = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
NUMBER_FLAGS: Final = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
SIGNS: Final = {"-": "−", "+": "+"}


class HeaderLink(NamedTuple):
    """A link in the header of a hunk, named `more`, `keep` or `revert`."""

    name: str
    text: str


class HunkLink(NamedTuple):
    """A link in a hunk header: `more`, `keep` or `revert`, and the index of the hunk."""

    name: str
    hunk: int


class DiffLineDelegate(QStyledItemDelegate):
    """Paints the line number, sign and text of a line.

    The sign tells added from removed lines without relying on color.
    """

    def __init__(self, rows: DiffTableModel, look: Look, parent: QWidget) -> None:
        super().__init__(parent)
        self._rows = rows
        self._look = look
        self._texts = LineTexts(look)
        self.offset = 0  # pixels by which the text of all lines is scrolled to the left
        self.commentable = False  # whether the line under the pointer shows a button that adds a comment

    @property
    def texts(self) -> LineTexts:
        return self._texts

    def set_diff(self, difference: TextDiff, file_name: str) -> None:
        self._texts.set_diff(difference, file_name)

    def restyle(self, look: Look) -> None:
        self._look = look
        self._texts.restyle(look)

    def width_for(self, characters: int) -> int:
        """Return the width of a line with this number of characters."""
        character_width = QFontMetrics(self._look.fonts.mono).horizontalAdvance("0")
        return self.number_width() + SIGN_WIDTH + character_width * characters + 16

    def number_width(self) -> int:
        return self._look.size(NUMBER_WIDTH)

    def links(self, row: DiffRow, column: int) -> list[HeaderLink]:
        """Return the links in this column of a hunk header, from left to right."""
        links: list[HeaderLink] = []
        if row.hidden_lines and column == 0:
            can_show_all = row.hidden_lines <= MORE_LINES
            links.append(
                HeaderLink("more", self.tr("Show") if can_show_all else self.tr("Show {} more").format(MORE_LINES))
            )
        if row.hunk >= 0 and column == self._rows.columnCount() - 1:
            if self._rows.is_kept(row.hunk):
                return [*links, HeaderLink("keep", self.tr("Show the hunk"))]
            if self._rows.can_keep:
                links.append(HeaderLink("keep", self.tr("Keep")))
            if self._rows.can_revert:
                links.append(HeaderLink("revert", self.tr("Revert")))
        return links

    def link_rects(self, box: QRect, row: DiffRow, column: int) -> dict[str, QRect]:
        """Return the rectangles of the links in a hunk header by name; `box` is the rectangle of the header."""
        metrics = QFontMetrics(self._look.fonts.second)
        rects: dict[str, QRect] = {}
        right = box.right() - LINK_GAP
        for link in reversed(self.links(row, column)):
            width = metrics.horizontalAdvance(link.text) + 4
            if link.name == "more":
                hidden_width = metrics.horizontalAdvance(unchanged_lines_text(row.hidden_lines))
                left = self._text_left(box) + hidden_width + LINK_GAP
                left = max(self._text_left(box), min(left, right - width))  # the text to the left is elided instead
                rects[link.name] = QRect(left, box.y(), width, box.height())
            else:
                rects[link.name] = QRect(right - width, box.y(), width, box.height())
                right -= width + LINK_GAP
        return rects

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        box, column = QRect(option.rect), index.column()
        row = self._rows.row(index.row(), column)
        is_selected = QStyle.StateFlag.State_Selected in option.state
        if row is None or row.sign == COMMENT:
            painter.fillRect(box, self._look.theme.panel)
        elif row.is_header:
            self._paint_header(painter, box, row, column, is_selected=is_selected)
        else:
            painter.fillRect(box, self._background(row, is_selected=is_selected))
            self._paint_number(painter, box, row, column)
            if self.commentable and QStyle.StateFlag.State_MouseOver in option.state:
                self._paint_comment_button(painter, box)
            self._paint_sign(painter, box, row)
            self._paint_text(painter, box, row)
            if column:
                painter.fillRect(QRect(box.left(), box.top(), 1, box.height()), self._look.theme.line)

    def _tint(self, row: DiffRow) -> QColor | None:
        """Return the background color of an added or removed line; None for other lines."""
        theme = self._look.theme
        return {"+": theme.done, "-": theme.failed}.get(row.sign)

    def _background(self, row: DiffRow, *, is_selected: bool) -> QColor:
        theme, tint = self._look.theme, self._tint(row)
        background = blend(tint, theme.background, TINT) if tint else theme.background
        return blend(theme.accent, background, SELECTION_TINT) if is_selected else background

    def _paint_number(self, painter: QPainter, box: QRect, row: DiffRow, column: int) -> None:
        shows_old = row.sign == "-" or (self._rows.side_by_side and column == 0)
        painter.setFont(self._look.fonts.mono)
        painter.setPen(self._look.theme.third)
        number_box = QRect(box.x(), box.y(), self.number_width() - 8, box.height())
        painter.drawText(number_box, NUMBER_FLAGS, str(row.old if shows_old else row.new))

    def _paint_comment_button(self, painter: QPainter, box: QRect) -> None:
        """Paint the button that adds a comment, over the left edge of the line number."""
        size = min(self._look.size(BUTTON), box.height() - 2)
        button = QRect(box.x() + 4, box.y() + (box.height() - size) // 2, size, size)
        draw_frame(painter, button, 4, self._look.theme.accent, None)
        picture = pixmap("plus", self._look.theme.on_accent, size - 4, painter.device().devicePixelRatio())
        painter.drawPixmap(button.x() + 2, button.y() + 2, picture)

    def _paint_sign(self, painter: QPainter, box: QRect, row: DiffRow) -> None:
        if tint := self._tint(row):
            painter.setFont(self._look.fonts.mono)
            painter.setPen(tint)
            sign_box = QRect(box.x() + self.number_width() + 2, box.y(), SIGN_WIDTH, box.height())
            painter.drawText(sign_box, SIGN_FLAGS, SIGNS[row.sign])

    def _paint_text(self, painter: QPainter, box: QRect, row: DiffRow) -> None:
        line = box.adjusted(self.number_width() + SIGN_WIDTH, 0, 0, 0)
        layout = self._texts.layout(row)
        painter.save()
        painter.setClipRect(line, Qt.ClipOperation.IntersectClip)
        painter.setPen(self._look.theme.text)
        top = line.y() + (line.height() - layout.lineAt(0).height()) / 2
        layout.draw(painter, QPointF(line.x() - self.offset, round(top)))
        painter.restore()

    def _paint_header(self, painter: QPainter, box: QRect, row: DiffRow, column: int, *, is_selected: bool) -> None:
        """Paint the number of lines hidden above the hunk, whether the hunk is kept, and the links."""
        theme, font = self._look.theme, self._look.fonts.second
        painter.fillRect(box, theme.selection if is_selected else theme.panel)
        rects = self.link_rects(box, row, column)
        text_box = box.adjusted(self._text_left(box) - box.x(), 0, 0, 0)
        if row.hidden_lines and column == 0:
            hidden_box = text_box.adjusted(0, 0, rects["more"].left() - LINK_GAP - text_box.right(), 0)
            draw_line(painter, hidden_box, unchanged_lines_text(row.hidden_lines), font, theme.third)
            text_box.setLeft(rects["more"].right() + LINK_GAP)
        if self._rows.is_kept(row.hunk) and column == 0:
            draw_line(
                painter, text_box, self.tr("✓ Kept {}").format(self._rows.hunk_figures(row.hunk)), font, theme.done
            )
        for link in self.links(row, column):
            draw_line(painter, rects[link.name], link.text, font, theme.accent)

    def _text_left(self, box: QRect) -> int:
        return box.x() + self.number_width() + SIGN_WIDTH

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(0, self._look.size(ROW_HEIGHT))
