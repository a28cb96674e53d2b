"""The lines of a difference as a Qt model, and how they are painted: unified, or old beside new."""

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

from core.timeline.difference import Difference, Row
from ui.theme import Look, blend
from ui.visible import visible
from ui.widgets.paint import draw_line, draw_right

LINE_LIMIT: Final = 2_000  # characters of one line that are painted
ROW: Final = 20
NUMBER: Final = 46
SIGN: Final = 24

AnyIndex = QModelIndex | QPersistentModelIndex
NOWHERE = QModelIndex()
SIGNS: Final = {"-": "−", "+": "+"}


class DifferenceRows(QAbstractTableModel):
    """One column, or two with the old lines in the first; rows of both line up."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._difference = Difference((), (), ())
        self._pairs: list[tuple[Row | None, Row | None]] = []
        self.beside = False
        self.undoable = False

    @property
    def difference(self) -> Difference:
        return self._difference

    def show(self, difference: Difference, *, beside: bool, undoable: bool) -> None:
        self.beginResetModel()
        self._difference, self.beside, self.undoable = difference, beside, undoable
        rows = [row for row in difference.rows() if row.sign != "head" or undoable or row.text != "0"]
        self._pairs = list(_paired(rows)) if beside else [(row, row) for row in rows]
        self.endResetModel()

    def row(self, place: int, column: int = 0) -> Row | None:
        return self._pairs[place][column if self.beside else 0] if 0 <= place < len(self._pairs) else None

    def head(self, place: int) -> Row | None:
        """The line over a part, if this is one."""
        row = self.row(place)
        return row if row and row.sign == "head" else None

    def heads(self) -> list[int]:
        """Where the parts begin."""
        found: dict[int, int] = {}
        for place in range(len(self._pairs)):
            row = self.row(place) or self.row(place, 1)
            if row and row.part >= 0:
                found.setdefault(row.part, place)
        return list(found.values())

    def longest(self) -> int:
        """Characters of the longest line, as far as it is painted."""
        lines = (*self._difference.old, *self._difference.new) if self._difference.blocks else ()
        return min(LINE_LIMIT, max((len(line) for line in lines), default=0))

    # Qt

    def rowCount(self, parent: AnyIndex = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._pairs)

    def columnCount(self, parent: AnyIndex = NOWHERE) -> int:
        return 0 if parent.isValid() else 2 if self.beside else 1

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or role not in {Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole}:
            return None
        row = self.row(index.row(), index.column())
        if row is None:
            return ""
        if row.sign == "head":
            return unchanged(int(row.text))
        said = {"-": self.tr("removed"), "+": self.tr("added")}.get(row.sign, "")
        return visible(f"{said} {row.old or row.new}: {row.text.rstrip()}".strip())


def unchanged(lines: int) -> str:
    said = "{} unchanged line" if lines == 1 else "{} unchanged lines"
    return QCoreApplication.translate("changes", said).format(f"{lines:,}")


def _paired(rows: list[Row]) -> list[tuple[Row | None, Row | None]]:
    """Old and new beside each other: what was removed stands by what came instead."""
    found: list[tuple[Row | None, Row | None]] = []
    removed: list[Row] = []
    added: list[Row] = []

    def settle() -> None:
        for place in range(max(len(removed), len(added))):
            one = removed[place] if place < len(removed) else None
            other = added[place] if place < len(added) else None
            found.append((one, other))
        removed.clear()
        added.clear()

    for row in rows:
        if row.sign == "-":
            if added:
                settle()
            removed.append(row)
        elif row.sign == "+":
            added.append(row)
        else:
            settle()
            found.append((row, row))
    settle()
    return found


class LinePainter(QStyledItemDelegate):
    """Numbers, a sign, and the line on a quiet ground: never told apart by colour alone."""

    def __init__(self, rows: DifferenceRows, look: Look, parent: QWidget) -> None:
        super().__init__(parent)
        self._rows = rows
        self.look = look

    def width_of(self, characters: int) -> int:
        return self._number() + SIGN + QFontMetrics(self.look.fonts.mono).horizontalAdvance("0") * characters + 16

    def undo_box(self, box: QRect) -> QRect:
        """Where *undo this part* stands in the line over it."""
        room = QFontMetrics(self.look.fonts.second).horizontalAdvance(self.tr("Undo this part")) + 4
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
        number = row.old if row.sign == "-" or (self._rows.beside and index.column() == 0) else row.new
        draw_right(
            painter, QRect(box.x(), box.y(), self._number() - 8, box.height()), str(number), fonts.mono, theme.third
        )
        ink: QColor = tints.get(row.sign, theme.third)
        sign = QRect(box.x() + self._number() + 2, box.y(), SIGN, box.height())
        draw_line(painter, sign, SIGNS.get(row.sign, ""), fonts.mono, ink)
        said = visible(row.text.rstrip("\r\n")[:LINE_LIMIT]).expandtabs(4)
        line = box.adjusted(self._number() + SIGN, 0, 0, 0)
        painter.setPen(theme.text)
        painter.setFont(fonts.mono)
        painter.drawText(line, Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine, said)

    def _head(self, painter: QPainter, box: QRect, row: Row, column: int, chosen: bool) -> None:
        theme, fonts = self.look.theme, self.look.fonts
        painter.fillRect(box, theme.selection if chosen else theme.panel)
        hidden = int(row.text)
        if hidden and column == 0:
            draw_line(
                painter, box.adjusted(self._number() + SIGN, 0, 0, 0), unchanged(hidden), fonts.second, theme.third
            )
        if row.part >= 0 and self._rows.undoable and column == self._rows.columnCount() - 1:
            draw_line(painter, self.undo_box(box), self.tr("Undo this part"), fonts.second, theme.accent)

    def _number(self) -> int:
        return self.look.size(NUMBER)

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(0, self.look.size(ROW))
