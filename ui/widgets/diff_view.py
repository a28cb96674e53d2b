"""The table that shows a diff; it stays fast with a hundred thousand lines."""

from typing import Final

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QAbstractSlider, QHeaderView, QTableView, QWidget

from core.timeline.text_diff import TextDiff
from ui.style.theme import Look
from ui.widgets.diff_rows import ROW_HEIGHT, DiffLineDelegate, DiffTableModel

MAX_WIDTH: Final = 12_000
SCROLLED_CHARACTERS: Final = 8  # by one press of Left or Right


class DiffView(QTableView):
    """A diff view. U reverts the selected hunk, N and P go to the next and previous hunk.

    Long lines scroll within their column, also with Left and Right: the columns always fit the view.
    """

    revert_requested = Signal(int)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows = DiffTableModel(self)
        self._painter = DiffLineDelegate(self._rows, look, self)
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
        self.setCornerWidget(QWidget())  # otherwise the style draws a frame between the scroll bars
        self.restyle(look)

    @property
    def rows(self) -> DiffTableModel:
        return self._rows

    def show_diff(self, difference: TextDiff, *, side_by_side: bool, can_revert: bool) -> None:
        self._rows.show(difference, side_by_side=side_by_side, can_revert=can_revert)
        self._fit()
        self.scrollToTop()
        self.horizontalScrollBar().setValue(0)

    def restyle(self, look: Look) -> None:
        self._painter.look = look
        self.verticalHeader().setDefaultSectionSize(look.size(ROW_HEIGHT))
        self.verticalScrollBar().setSingleStep(look.size(ROW_HEIGHT))
        self._fit()
        self.viewport().update()

    def go_to_hunk(self, by: int) -> None:
        """Select the next hunk (`by` > 0) or the previous one."""
        positions = self._rows.hunk_positions()
        if not positions:
            return
        index = self.currentIndex()
        current_row = index.row() if index.isValid() else -1
        later = [position for position in positions if position > current_row]
        earlier = [position for position in positions if position < current_row]
        position = (later[0] if later else positions[-1]) if by > 0 else (earlier[-1] if earlier else positions[0])
        self.selectRow(position)
        self.setCurrentIndex(self._rows.index(position, 0))
        self.scrollTo(self._rows.index(position, 0), QAbstractItemView.ScrollHint.PositionAtTop)

    def revert_current_hunk(self) -> None:
        """Request the revert of the hunk that contains the selected line."""
        row = self._rows.row(self.currentIndex().row()) if self.currentIndex().isValid() else None
        if row and row.hunk >= 0 and self._rows.can_revert:
            self.revert_requested.emit(row.hunk)

    def copy(self) -> None:
        """Copy the selected lines to the clipboard, without their signs."""
        positions = sorted({index.row() for index in self.selectionModel().selectedRows()})
        lines = []
        for position in positions:
            row = (
                (self._rows.row(position, 1) or self._rows.row(position, 0))
                if self._rows.side_by_side
                else self._rows.row(position)
            )
            if row and row.sign != "head":
                lines.append(row.text.rstrip("\r\n"))
        if lines:
            QGuiApplication.clipboard().setText("\n".join(lines))

    def _fit(self) -> None:
        for column in range(self._rows.columnCount()):
            self.setColumnWidth(column, self._fitting_width())
        policy = Qt.ScrollBarPolicy.ScrollBarAlwaysOn if self._overflow() else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        if policy != self.horizontalScrollBarPolicy():
            self.setHorizontalScrollBarPolicy(policy)
        self.updateGeometries()

    def _fitting_width(self) -> int:
        return self.viewport().width() // max(1, self._rows.columnCount())

    def _overflow(self) -> int:
        """Return by how many pixels the longest line exceeds its column."""
        needed = min(MAX_WIDTH, self._painter.width_for(self._rows.longest_line()))
        return max(0, needed - self._fitting_width())

    def _over_undo(self, event: QMouseEvent) -> int:
        """Return the hunk whose undo link is under the pointer, or -1."""
        index: QModelIndex = self.indexAt(event.position().toPoint())
        head = self._rows.hunk_header(index.row()) if index.isValid() else None
        if head is None or head.hunk < 0 or not self._rows.can_revert:
            return -1
        box = self.visualRect(self._rows.index(index.row(), self._rows.columnCount() - 1))
        return head.hunk if self._painter.undo_rect(box).contains(event.position().toPoint()) else -1

    # Qt overrides

    def updateGeometries(self) -> None:
        """Let the horizontal scroll bar move the text within the columns."""
        bar = self.horizontalScrollBar()
        value = bar.value()
        bar.blockSignals(True)  # QTableView sets the bar to 0, because the columns fit
        super().updateGeometries()
        bar.setRange(0, self._overflow())
        bar.setPageStep(self._fitting_width())
        bar.setSingleStep(self._painter.width_for(SCROLLED_CHARACTERS) - self._painter.width_for(0))
        bar.setValue(value)
        bar.blockSignals(False)
        if self._painter.offset != bar.value():
            self._painter.offset = bar.value()
            self.viewport().update()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        self._painter.offset = self.horizontalScrollBar().value()
        super().scrollContentsBy(0, dy)
        if dx:
            self.viewport().update()

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
            self.revert_requested.emit(part)
        else:
            super().mousePressEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif event.key() in {Qt.Key.Key_Left, Qt.Key.Key_Right} and not event.modifiers():
            action = QAbstractSlider.SliderAction
            step = action.SliderSingleStepAdd if event.key() == Qt.Key.Key_Right else action.SliderSingleStepSub
            self.horizontalScrollBar().triggerAction(step)
        elif event.key() == Qt.Key.Key_N and not event.modifiers():
            self.go_to_hunk(1)
        elif event.key() == Qt.Key.Key_P and not event.modifiers():
            self.go_to_hunk(-1)
        elif event.key() == Qt.Key.Key_U and not event.modifiers():
            self.revert_current_hunk()
        else:
            super().keyPressEvent(event)
