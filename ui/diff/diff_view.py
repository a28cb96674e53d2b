"""The table that shows a diff. It stays fast with a hundred thousand lines."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Final

from PySide6.QtCore import QModelIndex, QPoint, QRect, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QFocusEvent,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractItemView, QAbstractSlider, QHeaderView, QTableView, QWidget

from core.timeline.text_diff import TextDiff
from ui.diff.comment_widget import CommentWidget
from ui.diff.diff_delegate import ROW_HEIGHT, DiffLineDelegate, HunkLink
from ui.diff.diff_rows import COMMENT, MORE_LINES, NO_COMMENTS, NOT_LINES, DiffLine, DiffTableModel
from ui.diff.line_menu import LineAction, line_menu
from ui.style.theme import Look

MAX_WIDTH: Final = 12_000
SCROLLED_CHARACTERS: Final = 8  # characters by which each press of Left or Right scrolls
ALL_LINES: Final = 1 << 30


class DiffView(QTableView):
    """The table of a diff.

    Long lines scroll within their column, also with Left and Right: the columns always fit the view.

    Keys: N and P go to the next and previous hunk, with Shift to the next and previous file. K keeps the selected hunk,
    U reverts it, C comments on the selected lines, X shows more lines around the hunk, and Shift+X the whole file.
    Enter edits the selected comment and Delete removes it; ] and [ go to the next and previous comment.
    """

    revert_requested = Signal(int, bool)
    """The index of a hunk to revert, and whether to ask first, because a key is pressed by accident more easily."""
    revert_blocked = Signal()
    """The user wants to revert a hunk, but none is selected, or it cannot be reverted."""
    keep_requested = Signal(int)
    """The index of a hunk to keep, or to show again if it is kept."""
    refused = Signal(str)
    """Why the selected lines cannot be copied or commented on."""
    comment_requested = Signal(object, object)
    """The first and the last line of text to comment on."""
    file_requested = Signal(int, bool)
    """Go to the next (1) or previous (-1) file; true to select a hunk in it."""
    open_requested = Signal(int)
    """Open the file in the editor at this line of the new text; 0 for no line."""
    comment_removed = Signal(str)
    next_comment_requested = Signal(int)

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows = DiffTableModel(self)
        self._painter = DiffLineDelegate(self._rows, look, self)
        self._make_comment: Callable[[str], CommentWidget] | None = None
        self._comment_positions: list[int] = []
        # True while comment widgets are being replaced, and lose the focus although the user does not leave them.
        self.rebuilding = False
        self.setObjectName("changes.lines")
        self.setAccessibleName(self.tr("Changed lines"))
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setCornerButtonEnabled(False)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.horizontalHeader().hide()
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.horizontalHeader().setMinimumSectionSize(40)
        header = self.verticalHeader()
        header.hide()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header.setMinimumSectionSize(8)
        self.setModel(self._rows)
        for changed in (self.selectionModel().selectionChanged, self.selectionModel().currentChanged):
            changed.connect(self._mark_selected_comment)
        self.setItemDelegate(self._painter)
        # So that scrolling paints only the lines that come into view.
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setMouseTracking(True)
        self.setCornerWidget(QWidget())  # otherwise, the style would draw a frame between the scroll bars
        self.restyle(look)

    @property
    def rows(self) -> DiffTableModel:
        return self._rows

    def set_comment_source(self, make_comment: Callable[[str], CommentWidget]) -> None:
        """Allow comments on lines. `make_comment` returns the widget for the comment with this ID."""
        self._make_comment = make_comment
        self._rows.describe_comment = lambda name: shown.description() if (shown := self.comment_widget(name)) else ""
        self._painter.commentable = True

    def show_diff(
        self,
        difference: TextDiff,
        *,
        side_by_side: bool,
        can_revert: bool,
        can_keep: bool = False,
        kept: Collection[str] = (),
        comments: Mapping[DiffLine, Sequence[str]] = NO_COMMENTS,
        file_name: str = "",
        in_place: bool = False,
    ) -> None:
        """Show a diff. The file name determines the syntax colors.

        If `in_place`, the lines on screen stay where they are; otherwise, the diff is shown from its start.
        """
        with self._in_place() if in_place else nullcontext():
            self._painter.set_diff(difference, file_name)
            self._rows.show(
                difference, side_by_side=side_by_side, can_revert=can_revert, can_keep=can_keep, kept=kept,
                comments=comments,
            )  # fmt: skip
            self._place_comments()
            self._fit()
        if not in_place:
            self.scrollToTop()
            self.horizontalScrollBar().setValue(0)

    def update_review(self, kept: Collection[str], comments: Mapping[DiffLine, Sequence[str]]) -> None:
        """Update the kept hunks and the comments without moving the lines on screen."""
        rows = self._rows
        with self._in_place():
            rows.show(
                rows.diff, side_by_side=rows.side_by_side, can_revert=rows.can_revert, can_keep=rows.can_keep,
                kept=kept, comments=comments,
            )  # fmt: skip
            self._place_comments()

    def restyle(self, look: Look) -> None:
        self._painter.restyle(look)
        self._background = look.theme.background
        self.verticalHeader().setDefaultSectionSize(look.size(ROW_HEIGHT))
        self.verticalScrollBar().setSingleStep(look.size(ROW_HEIGHT))
        self._fit_comments()
        self._fit()
        self.viewport().update()

    def go_to_hunk(self, direction: int) -> None:
        """Select the next (1) or previous (-1) hunk. If there is none, request the next or previous file."""
        positions = self._rows.hunk_positions()
        current_row = self._current_position()
        candidates = [position for position in positions if (position - current_row) * direction > 0]
        if candidates:
            self._select(min(candidates) if direction > 0 else max(candidates))
        else:
            self.file_requested.emit(direction, True)

    def select_edge_hunk(self, direction: int) -> None:
        """Select the first (1) or the last (-1) hunk of the diff."""
        if positions := self._rows.hunk_positions():
            self._select(positions[0] if direction > 0 else positions[-1])

    def current_hunk(self) -> int:
        """Return the index of the hunk that contains the selected line; -1 if there is none."""
        row = self._rows.either_row(self._current_position())
        return row.hunk if row else -1

    def current_line(self) -> DiffLine | None:
        """Return the selected line of text. If it has an old and a new side, return the new one."""
        return self._rows.line_at(self._current_position())

    def revert_current_hunk(self) -> None:
        """Request to revert the hunk that contains the selected line."""
        hunk = self.current_hunk()
        if not self._rows.can_revert or hunk < 0 or self._rows.is_kept(hunk):
            self.revert_blocked.emit()
        else:
            self.revert_requested.emit(hunk, True)

    def keep_current_hunk(self) -> None:
        """Request to keep the hunk that contains the selected line or, if it is kept, to show it again."""
        if (hunk := self.current_hunk()) >= 0 and self._rows.can_keep:
            self.keep_requested.emit(hunk)

    def open_current_line(self) -> None:
        """Request to open the file at the selected line; for a removed line, at the next line of the new text."""
        self.open_requested.emit(self._rows.new_line_from(self._current_position()))

    def comment_on_selection(self) -> None:
        """Request a comment on the selected lines.

        If lines of both texts are selected, the comment is on the text that contains the current line.
        """
        if self._make_comment is None:
            return
        if (last := self.current_line()) is None:
            self.refused.emit(self.tr("Select a line to comment on it."))
            return
        positions = sorted({index.row() for index in self.selectionModel().selectedRows()})
        cells = ((position, column) for position in positions for column in range(self._rows.columnCount()))
        lines = [line for position, column in cells if (line := self._rows.line_at(position, column))]
        numbers = [line.number for line in lines if line.side == last.side] or [last.number]
        self.comment_requested.emit(DiffLine(last.side, min(numbers)), DiffLine(last.side, max(numbers)))

    def show_more(self, lines: int = MORE_LINES, gap: int | None = None) -> None:
        """Show more unchanged lines above the current hunk, or above the hunk with the index `gap`."""
        if gap is None and lines == ALL_LINES:
            gaps = [*range(len(self._rows.diff.hunks())), -1]
        else:
            gaps = [self.current_hunk() if gap is None else gap]
        with self._in_place():
            for hunk in gaps:
                self._rows.show_more(hunk, lines)
            self._place_comments()

    def copy(self) -> None:
        """Copy the selected lines to the clipboard, without the plus and minus signs."""
        positions = sorted({index.row() for index in self.selectionModel().selectedRows()})
        rows = [self._rows.either_row(position) for position in positions]
        lines = [row.text.rstrip("\r\n") for row in rows if row and row.sign not in NOT_LINES]
        if lines:
            QGuiApplication.clipboard().setText("\n".join(lines))
        else:
            self.refused.emit(self.tr("Select lines to copy them."))

    def comment_widget(self, name: str) -> CommentWidget | None:
        """Return the widget of the comment with this ID; None if the comment is not shown."""
        for position, shown in self._rows.comment_rows():
            widget = self.indexWidget(self._rows.index(position, 0))
            if shown == name and isinstance(widget, CommentWidget):
                return widget
        return None

    def select_comment(self, name: str) -> None:
        """Select the comment with this ID and scroll to it."""
        for position, shown in self._rows.comment_rows():
            if shown == name:
                self.selectRow(position)
                self.scrollTo(self._rows.index(position, 0), QAbstractItemView.ScrollHint.PositionAtCenter)

    def current_comment(self) -> str:
        """Return the ID of the selected comment; "" if none is selected."""
        row = self._rows.row(self._current_position())
        return row.text if row and row.sign == COMMENT else ""

    def fit_comment(self, comment: QWidget) -> None:
        """Resize the row of a comment to the current height of its widget."""
        for position, _ in self._rows.comment_rows():
            if self.indexWidget(self._rows.index(position, 0)) is comment:
                self.setRowHeight(position, self._comment_height(comment))

    def _current_position(self) -> int:
        """Return the position of the selected row, or -1. The current row is not used: Qt sets it on focus."""
        index = self.currentIndex()
        return index.row() if self.selectionModel().isSelected(index) else -1

    def _mark_selected_comment(self) -> None:
        for _, name in self._rows.comment_rows():
            if (widget := self.comment_widget(name)) is not None:
                widget.mark_selected(name == self.current_comment())

    def _edit_comment(self) -> None:
        if (name := self.current_comment()) and (widget := self.comment_widget(name)) is not None:
            widget.edit()

    def _select(self, position: int) -> None:
        self.selectRow(position)
        self.setCurrentIndex(self._rows.index(position, 0))
        self.scrollTo(self._rows.index(position, 0), QAbstractItemView.ScrollHint.PositionAtTop)

    @contextmanager
    def _in_place(self) -> Iterator[None]:
        """Keep the top line, the selection and the cursor in a comment while the body of `with` rebuilds the rows."""
        current, hunk, comment = self.current_line(), self.current_hunk(), self.current_comment()
        cursors = self._comment_cursors()
        positions = range(max(0, self.rowAt(0)), self._rows.rowCount())
        top = next((position for position in positions if self._rows.line_at(position)), -1)
        top_line, top_y = self._rows.line_at(top), self.rowViewportPosition(top)
        self.rebuilding = True
        try:
            yield
        finally:
            self.rebuilding = False
        self._fit()
        if top_line and (position := self._rows.position_of(top_line)) >= 0:
            bar = self.verticalScrollBar()
            bar.setValue(bar.value() + self.rowViewportPosition(position) - top_y)
        if comment:
            self.select_comment(comment)
        elif (position := self._rows.position_near(current, hunk)) >= 0:
            self.selectRow(position)
        for name, cursor in cursors.items():
            if (widget := self.comment_widget(name)) is not None:
                widget.edit(cursor)
        self._mark_selected_comment()

    def _comment_cursors(self) -> dict[str, int]:
        """Return the cursor positions in the comments that are being edited, by the ID of the comment."""
        widgets = ((name, self.comment_widget(name)) for _, name in self._rows.comment_rows())
        cursors = {name: widget.cursor_position() for name, widget in widgets if widget is not None}
        return {name: cursor for name, cursor in cursors.items() if cursor >= 0}

    def _place_comments(self) -> None:
        self.clearSpans()
        header = self.verticalHeader()
        for position in self._comment_positions:  # when the model is reset, the rows keep their heights
            if position < header.count():
                header.resizeSection(position, header.defaultSectionSize())
        self._comment_positions = [position for position, _ in self._rows.comment_rows()]
        if self._make_comment is None:
            return
        for position, name in self._rows.comment_rows():
            if self._rows.side_by_side:
                self.setSpan(position, 0, 1, 2)
            self.setIndexWidget(self._rows.index(position, 0), self._make_comment(name))
        self._fit_comments()

    def _fit_comments(self) -> None:
        for position, _ in self._rows.comment_rows():
            if (comment := self.indexWidget(self._rows.index(position, 0))) is not None:
                self.setRowHeight(position, self._comment_height(comment))

    def _comment_height(self, comment: QWidget) -> int:
        width = self.viewport().width()
        return comment.heightForWidth(width) if comment.hasHeightForWidth() else comment.sizeHint().height()

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
        """Return the number of pixels by which the longest line exceeds the width of its column."""
        needed = min(MAX_WIDTH, self._painter.width_for(self._rows.longest_line))
        return max(0, needed - self._fitting_width())

    def link_rects(self, position: int) -> dict[str, QRect]:
        """Return the rectangles of the links in the hunk header at a position by name, in viewport coordinates."""
        rects: dict[str, QRect] = {}
        if header := self._rows.hunk_header(position):
            for column in range(self._rows.columnCount()):
                box = self.visualRect(self._rows.index(position, column))
                rects |= self._painter.link_rects(box, header, column)
        return rects

    def _link_at(self, point: QPoint) -> HunkLink | None:
        position = self.indexAt(point).row()  # -1 if there is no row
        if header := self._rows.hunk_header(position):
            for name, rect in self.link_rects(position).items():
                if rect.contains(point):
                    return HunkLink(name, header.hunk)
        return None

    def _follow_link(self, link: HunkLink) -> None:
        if link.name == "more":
            self.show_more(gap=link.hunk)
        elif link.name == "keep":
            self.keep_requested.emit(link.hunk)
        else:
            self.revert_requested.emit(link.hunk, False)

    def _gutter_line(self, point: QPoint) -> DiffLine | None:
        """Return the line whose number is at `point`; None if there is none or comments are not possible."""
        index: QModelIndex = self.indexAt(point)
        if not index.isValid() or self._make_comment is None:
            return None
        left = point.x() - self.visualRect(index).left()
        return self._rows.line_at(index.row(), index.column()) if left < self._painter.number_width() else None

    # Overridden Qt methods

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Select the first hunk, so that its keys work at once. After a click, the clicked line is selected instead."""
        super().focusInEvent(event)
        by_mouse = event.reason() == Qt.FocusReason.MouseFocusReason
        if self._rows.can_keep and not by_mouse and not self.selectionModel().hasSelection():
            self.select_edge_hunk(1)

    def updateGeometries(self) -> None:
        """Use the horizontal scroll bar to scroll the text within the columns."""
        bar = self.horizontalScrollBar()
        value = bar.value()
        bar.blockSignals(True)  # QTableView would set the scroll bar to 0, because the columns fit into the view
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

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self.viewport()) as painter:
            painter.fillRect(event.rect(), self._background)
        super().paintEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_comments()
        self._fit()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        point = event.position().toPoint()
        is_clickable = self._link_at(point) is not None or self._gutter_line(point) is not None
        self.viewport().setCursor(Qt.CursorShape.PointingHandCursor if is_clickable else Qt.CursorShape.ArrowCursor)
        super().mouseMoveEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        point = event.position().toPoint()
        link = self._link_at(point)
        if event.button() != Qt.MouseButton.LeftButton or event.modifiers():
            super().mousePressEvent(event)
        elif link:
            self._follow_link(link)
        elif line := self._gutter_line(point):
            super().mousePressEvent(event)
            self.comment_requested.emit(line, line)
        else:
            super().mousePressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Open the menu of the line under the pointer, or of the selected line."""
        index = self.indexAt(event.pos())
        if not index.isValid() or self._rows.row(index.row()) is None:
            return
        if not self.selectionModel().isSelected(index):
            self.setCurrentIndex(index)
        hunk = self.current_hunk()
        is_kept = self._rows.is_kept(hunk)
        has_line, can_comment = self.current_line() is not None, self._make_comment is not None
        can_keep = self._rows.can_keep and hunk >= 0
        can_revert = self._rows.can_revert and hunk >= 0 and not is_kept
        keep = self.tr("Show the hunk") if is_kept else self.tr("Keep the hunk")
        entries = (
            LineAction("comment", self.tr("Comment…"), "C", has_line and can_comment, self.comment_on_selection),
            LineAction("copy", self.tr("Copy"), "Ctrl+C", has_line, self.copy),
            LineAction("open", self.tr("Open in editor"), "O", can_comment, self.open_current_line),
            LineAction("keep", keep, "K", can_keep, self.keep_current_hunk),
            LineAction("revert", self.tr("Revert the hunk"), "U", can_revert, self.revert_current_hunk),
            LineAction("more", self.tr("Show more lines"), "X", True, self.show_more),
        )
        line_menu(entries, self).popup(event.globalPos())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif event.modifiers() not in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier):
            super().keyPressEvent(event)
        elif action := self._actions(shift=bool(event.modifiers())).get(Qt.Key(event.key())):
            action()
        elif event.text().isprintable() and event.text():
            event.ignore()  # leaves the key to the panel; Qt would search the first column for the letter
        else:
            super().keyPressEvent(event)

    def _actions(self, *, shift: bool) -> Mapping[Qt.Key, Callable[[], object]]:
        if shift:
            return {
                Qt.Key.Key_N: lambda: self.file_requested.emit(1, False),
                Qt.Key.Key_P: lambda: self.file_requested.emit(-1, False),
                Qt.Key.Key_X: lambda: self.show_more(ALL_LINES),
            }
        bar, action = self.horizontalScrollBar(), QAbstractSlider.SliderAction
        return {
            Qt.Key.Key_Left: lambda: bar.triggerAction(action.SliderSingleStepSub),
            Qt.Key.Key_Right: lambda: bar.triggerAction(action.SliderSingleStepAdd),
            Qt.Key.Key_N: lambda: self.go_to_hunk(1),
            Qt.Key.Key_P: lambda: self.go_to_hunk(-1),
            Qt.Key.Key_U: self.revert_current_hunk,
            Qt.Key.Key_K: self.keep_current_hunk,
            Qt.Key.Key_C: self.comment_on_selection,
            Qt.Key.Key_X: self.show_more,
            Qt.Key.Key_O: self.open_current_line,
            Qt.Key.Key_BracketRight: lambda: self.next_comment_requested.emit(1),
            Qt.Key.Key_BracketLeft: lambda: self.next_comment_requested.emit(-1),
            Qt.Key.Key_Return: self._edit_comment,
            Qt.Key.Key_Enter: self._edit_comment,
            Qt.Key.Key_Delete: lambda: self.comment_removed.emit(self.current_comment()),
        }
