"""The list of lines of a difference: as quick for a hundred thousand of them as for ten."""

from typing import Final

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from core.timeline.difference import Difference
from ui.theme import Look
from ui.widgets.difference_rows import ROW, DifferenceRows, LinePainter

MOST_WIDTH: Final = 12_000


class DifferenceView(QTableView):
    """U undoes the part that is chosen; N and P go to the next and the previous one."""

    undo_wanted = Signal(int)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows = DifferenceRows(self)
        self._painter = LinePainter(self._rows, look, self)
        self.setObjectName("changes.lines")
        self.setAccessibleName(self.tr("Changed lines"))
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setCornerButtonEnabled(False)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        for scroll in (self.setVerticalScrollMode, self.setHorizontalScrollMode):
            scroll(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.horizontalHeader().hide()
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.horizontalHeader().setMinimumSectionSize(40)
        header = self.verticalHeader()
        header.hide()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header.setMinimumSectionSize(8)
        self.setModel(self._rows)
        self.setItemDelegate(self._painter)
        self.setMouseTracking(True)
        self.restyle(look)

    @property
    def rows(self) -> DifferenceRows:
        return self._rows

    def show_difference(self, difference: Difference, *, beside: bool, undoable: bool) -> None:
        self._rows.show(difference, beside=beside, undoable=undoable)
        self._fit()
        self.scrollToTop()

    def restyle(self, look: Look) -> None:
        self._painter.look = look
        self.verticalHeader().setDefaultSectionSize(look.size(ROW))
        self.verticalScrollBar().setSingleStep(look.size(ROW))
        self._fit()
        self.viewport().update()

    def go(self, by: int) -> None:
        """To the next part, or the one before."""
        heads = self._rows.heads()
        if not heads:
            return
        index = self.currentIndex()
        here = index.row() if index.isValid() else -1
        later = [place for place in heads if place > here]
        earlier = [place for place in heads if place < here]
        place = (later[0] if later else heads[-1]) if by > 0 else (earlier[-1] if earlier else heads[0])
        self.selectRow(place)
        self.setCurrentIndex(self._rows.index(place, 0))
        self.scrollTo(self._rows.index(place, 0), QAbstractItemView.ScrollHint.PositionAtTop)

    def undo_part(self) -> None:
        """The part of the chosen line becomes what it was."""
        row = self._rows.row(self.currentIndex().row()) if self.currentIndex().isValid() else None
        if row and row.part >= 0 and self._rows.undoable:
            self.undo_wanted.emit(row.part)

    def copy(self) -> None:
        """The chosen lines as text, without their signs."""
        places = sorted({index.row() for index in self.selectionModel().selectedRows()})
        lines = []
        for place in places:
            row = (self._rows.row(place, 1) or self._rows.row(place, 0)) if self._rows.beside else self._rows.row(place)
            if row and row.sign != "head":
                lines.append(row.text.rstrip("\r\n"))
        if lines:
            QGuiApplication.clipboard().setText("\n".join(lines))

    def _fit(self) -> None:
        columns = self._rows.columnCount()
        room = self.viewport().width() // columns
        needed = min(MOST_WIDTH, self._painter.width_of(self._rows.longest()))
        for column in range(columns):
            self.setColumnWidth(column, max(room, needed))

    def _over_undo(self, event: QMouseEvent) -> int:
        """The part whose *undo* is under the pointer; -1 for none."""
        index: QModelIndex = self.indexAt(event.position().toPoint())
        head = self._rows.head(index.row()) if index.isValid() else None
        if head is None or head.part < 0 or not self._rows.undoable:
            return -1
        box = self.visualRect(self._rows.index(index.row(), self._rows.columnCount() - 1))
        return head.part if self._painter.undo_box(box).contains(event.position().toPoint()) else -1

    # Qt

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        over = self._over_undo(event) >= 0
        self.viewport().setCursor(Qt.CursorShape.PointingHandCursor if over else Qt.CursorShape.ArrowCursor)
        super().mouseMoveEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        part = self._over_undo(event)
        if part >= 0 and event.button() == Qt.MouseButton.LeftButton:
            self.undo_wanted.emit(part)
        else:
            super().mousePressEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif event.key() == Qt.Key.Key_N and not event.modifiers():
            self.go(1)
        elif event.key() == Qt.Key.Key_P and not event.modifiers():
            self.go(-1)
        elif event.key() == Qt.Key.Key_U and not event.modifiers():
            self.undo_part()
        else:
            super().keyPressEvent(event)
