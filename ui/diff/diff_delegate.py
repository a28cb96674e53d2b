"""Paints the lines of a diff and the headers of its hunks, whose links keep and revert the hunk."""

from typing import Final

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRect, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter
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
TINT: Final = 0.14  # share of the color behind added and removed lines
LINK_GAP: Final = 18  # pixels between two links
BUTTON: Final = 16  # pixels; the button that adds a comment
SIGN_FLAGS: Final = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
NUMBER_FLAGS: Final = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
SIGNS: Final = {"-": "−", "+": "+"}


class DiffLineDelegate(QStyledItemDelegate):
    """Paints line number, sign and text of a diff line. The sign shows the change without relying on color."""

    def __init__(self, rows: DiffTableModel, look: Look, parent: QWidget) -> None:
        super().__init__(parent)
        self._rows = rows
        self._look = look
        self._texts = LineTexts(look)
        self.offset = 0  # pixels by which the text of the lines is scrolled to the left
        self.commentable = False  # whether a button at the line under the pointer adds a comment

    @property
    def texts(self) -> LineTexts:
        return self._texts

    def set_diff(self, difference: TextDiff, file_name: str) -> None:
        self._texts.set_diff(difference, file_name)

    def restyle(self, look: Look) -> None:
        self._look = look
        self._texts.restyle(look)

    def width_for(self, characters: int) -> int:
        return (
            self.number_width()
            + SIGN_WIDTH
            + QFontMetrics(self._look.fonts.mono).horizontalAdvance("0") * characters
            + 16
        )

    def number_width(self) -> int:
        return self._look.size(NUMBER_WIDTH)

    def links(self, row: DiffRow, column: int) -> list[tuple[str, str]]:
        """Return the name and the text of the links in this column of a hunk header, from left to right."""
        links: list[tuple[str, str]] = []
        hidden = int(row.text)
        if hidden and column == 0:
            lines = self.tr("Show {} more").format(MORE_LINES) if hidden > MORE_LINES else self.tr("Show")
            links.append(("more", lines))
        if row.hunk >= 0 and column == self._rows.columnCount() - 1:
            if self._rows.is_kept(row.hunk):
                links.append(("keep", self.tr("Show the hunk")))
                return links
            if self._rows.can_keep:
                links.append(("keep", self.tr("Keep")))
            if self._rows.can_revert:
                links.append(("revert", self.tr("Revert")))
        return links

    def link_rects(self, box: QRect, row: DiffRow, column: int) -> dict[str, QRect]:
        """Return where the links of a hunk header are within its rectangle."""
        metrics = QFontMetrics(self._look.fonts.second)
        rects: dict[str, QRect] = {}
        right = box.right() - LINK_GAP
        for name, text in reversed(self.links(row, column)):
            width = metrics.horizontalAdvance(text) + 4
            if name == "more":
                left = self._text_left(box) + metrics.horizontalAdvance(unchanged_lines_text(int(row.text))) + LINK_GAP
                rects[name] = QRect(left, box.y(), width, box.height())
            else:
                rects[name] = QRect(right - width, box.y(), width, box.height())
                right -= width + LINK_GAP
        return rects

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        theme, fonts, box = self._look.theme, self._look.fonts, QRect(option.rect)
        row = self._rows.row(index.row(), index.column())
        chosen = QStyle.StateFlag.State_Selected in option.state
        if row is None or row.sign == COMMENT:
            painter.fillRect(box, theme.panel)
            return
        if row.sign == "head":
            self._head(painter, box, row, index.column(), chosen)
            return
        tints = {"+": theme.done, "-": theme.failed}
        ground = blend(tints[row.sign], theme.background, TINT) if row.sign in tints else theme.background
        if chosen:
            ground = blend(theme.accent, ground, 0.22)
        painter.fillRect(box, ground)
        number = row.old if row.sign == "-" or (self._rows.side_by_side and index.column() == 0) else row.new
        number_box = QRect(box.x(), box.y(), self.number_width() - 8, box.height())
        painter.setFont(fonts.mono)
        painter.setPen(theme.third)
        painter.drawText(number_box, NUMBER_FLAGS, str(number))
        if self.commentable and QStyle.StateFlag.State_MouseOver in option.state:
            self._comment_button(painter, box)
        if row.sign in tints:
            painter.setFont(fonts.mono)
            painter.setPen(tints[row.sign])
            sign = QRect(box.x() + self.number_width() + 2, box.y(), SIGN_WIDTH, box.height())
            painter.drawText(sign, SIGN_FLAGS, SIGNS[row.sign])
        line = box.adjusted(self.number_width() + SIGN_WIDTH, 0, 0, 0)
        layout = self._texts.layout(row)
        painter.save()
        painter.setClipRect(line, Qt.ClipOperation.IntersectClip)
        painter.setPen(theme.text)
        top = line.y() + (line.height() - layout.lineAt(0).height()) / 2
        layout.draw(painter, QPointF(line.x() - self.offset, round(top)))
        painter.restore()
        if index.column():
            painter.fillRect(QRect(box.left(), box.top(), 1, box.height()), theme.line)

    def _comment_button(self, painter: QPainter, box: QRect) -> None:
        """Paint the button that adds a comment in place of the line number's left edge."""
        size = min(self._look.size(BUTTON), box.height() - 2)
        button = QRect(box.x() + 4, box.y() + (box.height() - size) // 2, size, size)
        draw_frame(painter, button, 4, self._look.theme.accent, None)
        icon_size = size - 4
        picture = pixmap("plus", self._look.theme.on_accent, icon_size, painter.device().devicePixelRatio())
        painter.drawPixmap(button.x() + 2, button.y() + 2, picture)

    def _head(self, painter: QPainter, box: QRect, row: DiffRow, column: int, chosen: bool) -> None:
        theme, fonts = self._look.theme, self._look.fonts
        painter.fillRect(box, theme.selection if chosen else theme.panel)
        rects, links = self.link_rects(box, row, column), dict(self.links(row, column))
        hidden = int(row.text)
        left = self._text_left(box)
        if hidden and column == 0:
            left += LINK_GAP + draw_line(
                painter, box.adjusted(left - box.x(), 0, 0, 0), unchanged_lines_text(hidden), fonts.second, theme.third
            )
            left += rects["more"].width() + LINK_GAP
        if self._rows.is_kept(row.hunk) and column == 0:
            text = self.tr("✓ Kept {}").format(self._rows.hunk_figures(row.hunk))
            draw_line(painter, box.adjusted(left - box.x(), 0, 0, 0), text, fonts.second, theme.done)
        for name, text in links.items():
            draw_line(painter, rects[name], text, fonts.second, theme.accent)

    def _text_left(self, box: QRect) -> int:
        return box.x() + self.number_width() + SIGN_WIDTH

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(0, self._look.size(ROW_HEIGHT))
