"""A Qt model of the lines of a diff and the delegate that paints them, unified or side by side."""

from typing import Any, Final

from PySide6.QtCore import (
    QAbstractTableModel,
    QCoreApplication,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRect,
    QSize,
    Qt,
)
from PySide6.QtGui import QColor, QFontMetrics, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from core.timeline.text_diff import DiffRow, TextDiff
from ui.style.theme import Look, blend
from ui.text.visible import visible
from ui.widgets.paint import draw_line, draw_right_aligned

LINE_LIMIT: Final = 2_000  # characters; the rest of a longer line is not painted
ROW_HEIGHT: Final = 20
NUMBER_WIDTH: Final = 46
SIGN_WIDTH: Final = 24
TAB: Final = 4  # columns between tab stops

AnyIndex = QModelIndex | QPersistentModelIndex
NOWHERE = QModelIndex()
SIGNS: Final = {"-": "−", "+": "+"}


class DiffTableModel(QAbstractTableModel):
    """The lines of a diff: one column (unified), or two (side by side) with the old lines in the first."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._difference = TextDiff((), (), ())
        self._pairs: list[tuple[DiffRow | None, DiffRow | None]] = []
        self.side_by_side = False
        self.can_revert = False

    @property
    def diff(self) -> TextDiff:
        return self._difference

    def show(self, difference: TextDiff, *, side_by_side: bool, can_revert: bool) -> None:
        self.beginResetModel()
        self._difference, self.side_by_side, self.can_revert = difference, side_by_side, can_revert
        rows = [row for row in difference.rows() if row.sign != "head" or can_revert or row.text != "0"]
        self._pairs = list(_paired(rows)) if side_by_side else [(row, row) for row in rows]
        self.endResetModel()

    def row(self, position: int, column: int = 0) -> DiffRow | None:
        return self._pairs[position][column if self.side_by_side else 0] if 0 <= position < len(self._pairs) else None

    def hunk_header(self, position: int) -> DiffRow | None:
        """Return the hunk header at this position; None if the row is not a header."""
        row = self.row(position)
        return row if row and row.sign == "head" else None

    def hunk_positions(self) -> list[int]:
        """Return the position at which each hunk starts."""
        positions: dict[int, int] = {}
        for position in range(len(self._pairs)):
            row = self.row(position) or self.row(position, 1)
            if row and row.hunk >= 0:
                positions.setdefault(row.hunk, position)
        return list(positions.values())

    def longest_line(self) -> int:
        """Return the number of characters of the longest line, at most `LINE_LIMIT`."""
        lines = (*self._difference.old, *self._difference.new) if self._difference.blocks else ()
        return min(
            LINE_LIMIT, max((len(line.expandtabs(TAB)) if "\t" in line else len(line) for line in lines), default=0)
        )

    # Qt overrides

    def rowCount(self, parent: AnyIndex = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._pairs)

    def columnCount(self, parent: AnyIndex = NOWHERE) -> int:
        return 0 if parent.isValid() else 2 if self.side_by_side else 1

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or role not in {Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole}:
            return None
        row = self.row(index.row(), index.column())
        if row is None:
            return self.tr("no line") if role == Qt.ItemDataRole.AccessibleTextRole else ""
        if row.sign == "head":
            return unchanged_lines_text(int(row.text))
        change = {"-": self.tr("removed"), "+": self.tr("added")}.get(row.sign, "")
        return visible(f"{change} {row.old or row.new}: {row.text.rstrip()}".strip())


def unchanged_lines_text(lines: int) -> str:
    text = "{} unchanged line" if lines == 1 else "{} unchanged lines"
    return QCoreApplication.translate("changes", text).format(f"{lines:,}")


def _paired(rows: list[DiffRow]) -> list[tuple[DiffRow | None, DiffRow | None]]:
    """Pair the lines for the side-by-side view: removed lines next to the lines that replace them."""
    pairs: list[tuple[DiffRow | None, DiffRow | None]] = []
    removed: list[DiffRow] = []
    added: list[DiffRow] = []

    def flush() -> None:
        for position in range(max(len(removed), len(added))):
            left = removed[position] if position < len(removed) else None
            right = added[position] if position < len(added) else None
            pairs.append((left, right))
        removed.clear()
        added.clear()

    for row in rows:
        if row.sign == "-":
            if added:
                flush()
            removed.append(row)
        elif row.sign == "+":
            added.append(row)
        else:
            flush()
            pairs.append((row, row))
    flush()
    return pairs


class DiffLineDelegate(QStyledItemDelegate):
    """Paints line number, sign and text of a diff line. The sign shows the change without relying on color."""

    def __init__(self, rows: DiffTableModel, look: Look, parent: QWidget) -> None:
        super().__init__(parent)
        self._rows = rows
        self.look = look
        self.offset = 0  # pixels by which the text of the lines is scrolled to the left

    def width_for(self, characters: int) -> int:
        return self._number() + SIGN_WIDTH + QFontMetrics(self.look.fonts.mono).horizontalAdvance("0") * characters + 16

    def undo_rect(self, box: QRect) -> QRect:
        """Return the rectangle of the undo link within the hunk header `box`."""
        room = QFontMetrics(self.look.fonts.second).horizontalAdvance(self.tr("Undo this hunk")) + 4
        return QRect(box.right() - room - 18, box.y(), room, box.height())

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        theme, fonts, box = self.look.theme, self.look.fonts, QRect(option.rect)
        row = self._rows.row(index.row(), index.column())
        chosen = QStyle.StateFlag.State_Selected in option.state
        if row is None:
            painter.fillRect(box, theme.panel)
            return
        if row.sign == "head":
            self._head(painter, box, row, index.column(), chosen)
            return
        tints = {"+": theme.done, "-": theme.failed}
        ground = blend(tints[row.sign], theme.background, 0.14) if row.sign in tints else theme.background
        if chosen:
            ground = blend(theme.accent, ground, 0.22)
        painter.fillRect(box, ground)
        number = row.old if row.sign == "-" or (self._rows.side_by_side and index.column() == 0) else row.new
        draw_right_aligned(
            painter, QRect(box.x(), box.y(), self._number() - 8, box.height()), str(number), fonts.mono, theme.third
        )
        color: QColor = tints.get(row.sign, theme.third)
        sign = QRect(box.x() + self._number() + 2, box.y(), SIGN_WIDTH, box.height())
        draw_line(painter, sign, SIGNS.get(row.sign, ""), fonts.mono, color)
        text = visible(row.text.rstrip("\r\n")[:LINE_LIMIT]).expandtabs(TAB)
        line = box.adjusted(self._number() + SIGN_WIDTH, 0, 0, 0)
        painter.save()
        painter.setClipRect(line, Qt.ClipOperation.IntersectClip)
        painter.setPen(theme.text)
        painter.setFont(fonts.mono)
        flags = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine
        painter.drawText(line.adjusted(-self.offset, 0, 0, 0), flags, text)
        painter.restore()
        if index.column():
            painter.fillRect(QRect(box.left(), box.top(), 1, box.height()), theme.line)

    def _head(self, painter: QPainter, box: QRect, row: DiffRow, column: int, chosen: bool) -> None:
        theme, fonts = self.look.theme, self.look.fonts
        painter.fillRect(box, theme.selection if chosen else theme.panel)
        hidden = int(row.text)
        if hidden and column == 0:
            draw_line(
                painter,
                box.adjusted(self._number() + SIGN_WIDTH, 0, 0, 0),
                unchanged_lines_text(hidden),
                fonts.second,
                theme.third,
            )
        if row.hunk >= 0 and self._rows.can_revert and column == self._rows.columnCount() - 1:
            draw_line(painter, self.undo_rect(box), self.tr("Undo this hunk"), fonts.second, theme.accent)

    def _number(self) -> int:
        return self.look.size(NUMBER_WIDTH)

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(0, self.look.size(ROW_HEIGHT))
