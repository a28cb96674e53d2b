"""The list of steps of the run page. It stays fast with a million rows."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from PySide6.QtCore import QModelIndex, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QAbstractSlider, QWidget

from core.domain.steps import Step
from ui.style.theme import Look
from ui.timeline.embedded_widgets import EmbeddedWidgets
from ui.timeline.reply_widgets import DRAFT, ReplyWidgets
from ui.timeline.row_delegate import TimelineRowDelegate
from ui.timeline.run_end_card import RunEnd, RunEndCard, RunEndCards
from ui.timeline.single_column_table import SingleColumnTable
from ui.timeline.timeline_model import AnyIndex, TimelineModel

TICK_MS: Final = 1_000
AT_TAIL: Final = 4
PASSES: Final = 4
ARROW_ROOM: Final = 8


class TimelineView(SingleColumnTable):
    """The list of steps. Only rows near the viewport are measured. At the end, the view follows new rows."""

    chosen = Signal(object)
    """The step that was selected."""
    opened = Signal(object)
    """The step that was activated with Enter."""
    unseen_changed = Signal(int)
    """The number of rows added since the user scrolled away from the tail."""
    link_clicked = Signal(str)
    visible_rows_changed = Signal(int, int)
    """The first and last row on screen."""
    rated = Signal(int, str, str)
    """Run number, rating and note."""
    changes_requested = Signal(str)
    review_requested = Signal()
    retry_requested = Signal()
    model_change_requested = Signal()

    def __init__(self, model: TimelineModel, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAutoScroll(False)
        # Every pixel is painted opaquely, so that Qt scrolls by moving the picture and paints only the new part.
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self._rows = model
        self._painter = TimelineRowDelegate(model, look, self)
        self._ground = look.theme.background
        self._later = QTimer(self, singleShot=True)
        self._later.timeout.connect(self._schedule_layout)
        self._replies = ReplyWidgets(self.viewport(), look, self.link_clicked.emit, self._wait)
        endings = RunEndCards(self.viewport(), look, self._connect_card)
        self._inlays = EmbeddedWidgets(model, self._painter, self._replies, endings)
        self._following = True
        self._settling = False
        self._layout_due = False
        self._unseen = 0
        self._pressed_at = 0.0
        self._soon = QTimer(self, interval=0, singleShot=True)
        self._soon.timeout.connect(self.update_layout)
        self._tick = QTimer(self, interval=TICK_MS)
        self._tick.timeout.connect(self._repaint_clock)
        self.setObjectName("timeline.steps")
        self.setAccessibleName(self.tr("Steps"))
        self.set_row_height(self._painter.heights.work)
        self.setItemDelegate(self._painter)
        self.setModel(model)
        self._connect_model(model)

    def _connect_model(self, model: TimelineModel) -> None:
        model.modelReset.connect(self._start_session)
        model.dataChanged.connect(self._change)
        model.rowsInserted.connect(self._schedule_layout)
        model.rowsRemoved.connect(self._schedule_layout)
        model.rows_added.connect(self._on_rows_added)
        model.draft_replaced.connect(self._replies.adopt_draft)
        self.clicked.connect(self._click)
        self.selectionModel().selectionChanged.connect(lambda chosen, _: self._choose())

    @property
    def following(self) -> bool:
        return self._following

    @property
    def replies(self) -> ReplyWidgets:
        return self._replies

    def restyle(self, look: Look) -> None:
        """Apply a theme or text size; the scroll position is kept."""
        self._painter.restyle(look)
        self._ground = look.theme.background
        self._replies.restyle(look)
        self._inlays.end_cards.restyle(look)
        self.set_row_height(self._painter.heights.work)
        self._schedule_layout()

    def follow(self) -> None:
        """Scroll to the latest row and follow new ones."""
        self._following = True
        self._set_unseen(0)
        self.update_layout()

    def select(self, position: int) -> None:
        """Select the row at a position and scroll to it."""
        if 0 <= position < self._rows.rowCount():
            self.setCurrentIndex(self._rows.index(position, 0))
            self.scroll_to(position)

    def select_row(self, row: int, session: str = "") -> None:
        """Select a row of the session, unfolding its run or group if needed, or a row of an expanded sub-agent."""
        if session in {"", self._rows.session}:
            step = self._rows.step_of_row(row)
            if step and self._rows.position_of(row) is None:
                self._rows.toggle_run(step.run)
            self._rows.expand_group_of(row)
        if (position := self._rows.position_of(row, session)) is not None:
            self.select(position)

    @property
    def selected_position(self) -> int:
        """The position of the selected row; -1 if there is none."""
        # Not the current index, because Qt makes the first row current when the list gets the focus.
        selected = self.selectionModel().selectedRows()
        return selected[0].row() if selected else -1

    def set_run_end_source(self, end_of: Callable[[Step], RunEnd]) -> None:
        """Set the function that provides the data of the run end cards, and refresh the cards."""
        self._inlays.run_end_of = end_of
        self._schedule_layout()

    def go_to_row(self, row: int) -> None:
        """Scroll a row to the middle of the viewport without selecting it."""
        step = self._rows.step_of_row(row)
        position = self._rows.position_of(row)
        if position is None and step and (header := self._rows.header(step.run)):
            position = self._rows.position_of(header.row)
        if position is None:
            return
        self._following = False
        for _ in range(2):
            self.scrollTo(self._rows.index(position, 0), QAbstractItemView.ScrollHint.PositionAtCenter)
            self.update_layout()
        self._update_following()

    def scroll_to(self, position: int) -> None:
        """Scroll to a position, in two passes: the first one measures rows, which may move the target."""
        for _ in range(2):
            self.scrollTo(self._rows.index(position, 0), QAbstractItemView.ScrollHint.EnsureVisible)
            self.update_layout()

    def go_to_run(self, by: int) -> None:
        """Select the header of the previous (-1) or next (1) run."""
        position = self.selected_position
        row = self._rows.root_row(position) if position >= 0 else self._rows.count - 1
        if header := self._rows.neighbor_run(row, by):
            self.select_row(header.row)

    def toggle_at(self, position: int) -> None:
        """Fold or unfold the run, group of reads or sub-agent at a position, without moving its row on screen."""
        step, group = self._rows.step_at(position), self._rows.group_at(position)
        if group:
            turn = partial(self._rows.toggle_group, group[0])
        elif step and step.kind == "run":
            turn = partial(self._rows.toggle_run, step.run)
        elif self._rows.is_expanded(position) is not None:
            turn = partial(self._rows.toggle_sub_agent, position)
        else:
            return
        self._following = False
        turn()
        self.update_layout()
        self._update_following()

    def update_layout(self) -> None:
        """Measure the rows near the viewport, keep the visible rows in place, and place the embedded widgets."""
        if self._settling:
            return
        self._settling = True
        self._soon.stop()
        try:
            if self._layout_due:
                self._layout_due = False
                self.updateGeometries()
            for _ in range(PASSES):
                if not self._measure():
                    break
            self._place_inlays()
        finally:
            self._settling = False

    def _measure(self) -> bool:
        """Measure the rows near the viewport once; return whether a height changed."""
        count, height = self._rows.rowCount(), self.viewport().height()
        if not count or not height:
            return False
        if self._following:
            changed, _ = self._resize_rows(count - 1, -1, -1, 2 * height)
            if changed:
                self.updateGeometries()
            if changed > 1 or (changed and not self._rows.is_draft(count - 1)):
                self.viewport().update()  # not for a growing draft, which only scrolls the rows above it
            bar = self.verticalScrollBar()
            if bar.value() != bar.maximum():
                bar.setValue(bar.maximum())
            return changed > 0
        top = self.rowAt(0)
        if top < 0:
            top = count - 1
        offset = self.rowViewportPosition(top)
        anchor = top if offset == 0 or top + 1 >= count or offset + self.rowHeight(top) >= height else top + 1
        above, grown_above = self._resize_rows(anchor - 1, -1, -1, height)
        below, _ = self._resize_rows(anchor, count, 1, 2 * height)
        if above or below:
            self.updateGeometries()
            self.viewport().update()
        if grown_above:
            bar = self.verticalScrollBar()
            bar.setValue(bar.value() + grown_above)
        return above + below > 0

    def _resize_rows(self, position: int, end: int, direction: int, max_height: int) -> tuple[int, int]:
        """Measure rows from `position` until `max_height` pixels are filled. Return how many changed and the growth."""
        header, width = self.verticalHeader(), self.viewport().width()
        changed, growth = 0, 0
        blocked = header.blockSignals(True)  # the geometry is updated once, after all rows
        while position != end and max_height > 0:
            height, old_height = self._inlays.row_height(position, width), header.sectionSize(position)
            if height != old_height:
                header.resizeSection(position, height)
                changed, growth = changed + 1, growth + height - old_height
            max_height -= height
            position += direction
        header.blockSignals(blocked)
        return changed, growth

    def _place_inlays(self) -> None:
        """Place the embedded widgets, and run the clock while a visible row is in progress."""
        visible_rows = self._inlays.place_widgets(self)
        if visible_rows.first >= 0 and self._rows.count:
            self.visible_rows_changed.emit(
                self._visible_root_row(visible_rows.first), self._visible_root_row(visible_rows.last)
            )
        if visible_rows.in_progress != self._tick.isActive():
            self._tick.start() if visible_rows.in_progress else self._tick.stop()

    def _visible_root_row(self, position: int) -> int:
        """Return the row of the session at a position; the draft counts as the last row."""
        return min(self._rows.root_row(position), self._rows.count - 1)

    def _connect_card(self, card: RunEndCard) -> None:
        card.rated.connect(self.rated)
        card.changes_requested.connect(self.changes_requested)
        card.review_requested.connect(self.review_requested)
        card.retry_requested.connect(self.retry_requested)
        card.model_change_requested.connect(self.model_change_requested)

    def _repaint_clock(self) -> None:
        if self.isVisible():
            self.viewport().update()

    # event handlers

    def _start_session(self) -> None:
        self._replies.clear()
        self._inlays.end_cards.clear()
        self._following = True
        self._set_unseen(0)
        self._schedule_layout()

    def _schedule_layout(self) -> None:
        self._layout_due = True
        self._soon.start()

    def _wait(self, milliseconds: int) -> None:
        if not self._later.isActive():
            self._later.start(milliseconds)

    def _change(self, first: QModelIndex, last: QModelIndex) -> None:
        for position in range(first.row(), last.row() + 1):
            if self._rows.is_draft(position):
                self._replies.mark_changed(DRAFT)
        self._schedule_layout()

    def _on_rows_added(self, rows: int) -> None:
        self._replies.images.recheck()
        if not self._following:
            self._set_unseen(self._unseen + rows)

    def _set_unseen(self, rows: int) -> None:
        if rows != self._unseen:
            self._unseen = rows
            self.unseen_changed.emit(rows)

    def _update_following(self) -> None:
        bar = self.verticalScrollBar()
        self._following = bar.value() >= bar.maximum() - AT_TAIL
        if self._following:
            self._set_unseen(0)

    def _click(self, index: QModelIndex) -> None:
        """Fold or unfold a clicked row: headers anywhere, expanded groups and sub-agents only at their arrow."""
        group = self._rows.group_at(index.row())
        arrow = self._painter.columns(self.viewport().width()).status_icon - ARROW_ROOM
        step = self._rows.step_at(index.row())
        if step and step.kind == "delegate":
            arrow = self._painter.columns(self.viewport().width()).badge_right - ARROW_ROOM
            if arrow - 2 * ARROW_ROOM <= self._pressed_at < arrow + 2 * ARROW_ROOM:
                self.toggle_at(index.row())
        elif group is None or not group[1] or self._pressed_at >= arrow:
            self.toggle_at(index.row())

    def _choose(self) -> None:
        position = self.selected_position
        if position >= 0 and (step := self._rows.step_at(position)):
            self.chosen.emit(step)

    def _open(self, position: int) -> None:
        step = self._rows.step_at(position)
        if step is None:
            return
        if step.kind == "run" or self._rows.group_at(position) or self._rows.is_expanded(position) is not None:
            self.toggle_at(position)
        else:
            self.opened.emit(step)

    # Qt overrides

    def dataChanged(self, first: AnyIndex, last: AnyIndex, roles: Sequence[int] = ()) -> None:
        if first != last or not self._rows.is_draft(first.row()):  # the draft's widget repaints itself
            super().dataChanged(first, last, roles)

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        super().scrollContentsBy(dx, dy)
        if not self._settling:
            self._update_following()
            self.update_layout()

    def resizeEvent(self, event: QResizeEvent) -> None:
        following = self._following
        super().resizeEvent(event)
        self._following = following
        self.update_layout()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._layout_due:
            self.update_layout()
        with QPainter(self.viewport()) as ground:
            ground.fillRect(event.rect(), self._ground)
        super().paintEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        keys, position, last = Qt.Key, self.selected_position, self._rows.rowCount() - 1
        if event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            event.ignore()
            return
        match event.key():
            case keys.Key_J | keys.Key_Down:
                self.select(self._next(position, 1) if position >= 0 else self._first_on_screen())
            case keys.Key_K | keys.Key_Up:
                self.select(self._next(position, -1) if position >= 0 else self._first_on_screen())
            case keys.Key_Home:
                self.select(0)
            case keys.Key_End:
                self.select(self._next(last + 1, -1))
                self.follow()
            case keys.Key_PageDown:
                self.verticalScrollBar().triggerAction(QAbstractSlider.SliderAction.SliderPageStepAdd)
            case keys.Key_PageUp:
                self.verticalScrollBar().triggerAction(QAbstractSlider.SliderAction.SliderPageStepSub)
            case keys.Key_Return | keys.Key_Enter:
                self._open(position)
            case keys.Key_Right | keys.Key_Left:
                self._set_expanded(position, expand=event.key() == keys.Key_Right)
            case keys.Key_BracketLeft:
                self.go_to_run(-1)
            case keys.Key_BracketRight:
                self.go_to_run(1)
            case _:
                event.ignore()

    def _set_expanded(self, position: int, *, expand: bool) -> None:
        """Expand or collapse a sub-agent. The Left key on a step of a sub-agent selects the delegating step."""
        if position < 0:
            return
        if self._rows.is_expanded(position) is (not expand):
            self.toggle_at(position)
        elif not expand and (delegating_position := self._rows.delegating_position(position)) is not None:
            self.select(delegating_position)

    def _next(self, position: int, direction: int) -> int:
        """Return the next position that is not hidden; `position` itself if there is none."""
        candidate = position + direction
        while 0 <= candidate < self._rows.rowCount() and self._rows.is_hidden(candidate):
            candidate += direction
        return candidate if 0 <= candidate < self._rows.rowCount() else position

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pressed_at = event.position().x()
        super().mousePressEvent(event)

    def _first_on_screen(self) -> int:
        return max(0, self.indexAt(QPoint(1, 1)).row())
