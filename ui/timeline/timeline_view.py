"""The list of steps of the run page. It stays fast with a million rows."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from PySide6.QtCore import QModelIndex, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractButton, QAbstractItemView, QAbstractSlider, QWidget

from core.domain.steps import Step
from ui.style.theme import Look
from ui.timeline.embedded_widgets import EmbeddedWidgets
from ui.timeline.lazy_row_heights import LazyRowHeights
from ui.timeline.reply_widgets import DRAFT, ReplyWidgets
from ui.timeline.row_delegate import TimelineRowDelegate
from ui.timeline.run_end_card import RunEnd, RunEndCard, RunEndCards
from ui.timeline.single_column_table import SingleColumnTable
from ui.timeline.timeline_model import AnyIndex, TimelineModel
from ui.widgets.announce import announce

DURATION_INTERVAL_MS: Final = 1_000
END_TOLERANCE: Final = 4  # pixels; if less remains below the viewport, the view counts as scrolled to the end
ARROW_MARGIN: Final = 8  # pixels on both sides of an arrow in which a click counts as a click on it


class TimelineView(SingleColumnTable):
    """The list of steps. Only rows near the viewport are measured. While scrolled to the end, it follows new rows."""

    chosen = Signal(object)
    """The step that was selected; None if it is the reply being streamed, which is not a step yet."""
    opened = Signal(object)
    """The step that was activated with Enter or a double-click."""
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
        # Each pixel is painted opaquely, so that Qt scrolls by moving the old contents and paints only the new part.
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self._rows = model
        self._painter = TimelineRowDelegate(model, look, self)
        self._background = look.theme.background
        self._replies = ReplyWidgets(
            self.viewport(), look, on_link_clicked=self.link_clicked.emit, update_later=self._schedule_later
        )
        end_cards = RunEndCards(self.viewport(), look, self._connect_card)
        self._embedded = EmbeddedWidgets(model, self._painter, self._replies, end_cards)
        self._heights = LazyRowHeights(self, model, self._embedded)
        self._following = True  # whether the view stays scrolled to the end when rows are added
        # True during an update of the layout, whose own scrolling must not start another update.
        self._is_updating = False
        self._layout_due = False
        self._unseen = 0  # number of rows added since the user scrolled away from the end
        self._pressed_x = 0.0
        self._layout_timer = QTimer(self, interval=0, singleShot=True)
        self._layout_timer.timeout.connect(self.update_layout)
        self._delayed_layout_timer = QTimer(self, singleShot=True)
        self._delayed_layout_timer.timeout.connect(self._schedule_layout)
        self._duration_timer = QTimer(self, interval=DURATION_INTERVAL_MS)
        self._duration_timer.timeout.connect(self._repaint_durations)
        self.setObjectName("timeline.steps")
        self.setAccessibleName(self.tr("Steps"))
        self.set_row_height(self._painter.heights.work)
        self.setItemDelegate(self._painter)
        self.setModel(model)
        self._connect_model(model)

    def _connect_model(self, model: TimelineModel) -> None:
        model.modelReset.connect(self._on_session_opened)
        model.dataChanged.connect(self._on_data_changed)
        model.rowsInserted.connect(self._schedule_layout)
        model.rowsRemoved.connect(self._schedule_layout)
        model.rows_added.connect(self._on_rows_added)
        model.draft_replaced.connect(self._on_draft_replaced)
        self.clicked.connect(self._on_clicked)
        self.doubleClicked.connect(self._on_double_clicked)
        self.selectionModel().selectionChanged.connect(lambda chosen, _: self._emit_chosen())

    @property
    def following(self) -> bool:
        return self._following

    @property
    def replies(self) -> ReplyWidgets:
        return self._replies

    def restyle(self, look: Look) -> None:
        """Apply a theme or text size without changing the scroll position."""
        self._painter.restyle(look)
        self._background = look.theme.background
        self._replies.restyle(look)
        self._embedded.end_cards.restyle(look)
        self.set_row_height(self._painter.heights.work)
        self._schedule_layout()

    def follow(self) -> None:
        """Scroll to the latest row, and from now on follow new rows."""
        self._following = True
        self._set_unseen(0)
        self.update_layout()

    def select(self, position: int) -> None:
        """Select the row at a position and scroll to it."""
        if 0 <= position < self._rows.rowCount():
            self.setCurrentIndex(self._rows.index(position, 0))
            self.scroll_to(position)

    def select_row(self, row: int, session: str = "") -> None:
        """Select a row of the main session, or of the expanded sub-agent `session`.

        The run or group that hides the row is unfolded.
        """
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
        # Qt's current index would be wrong here, because the list makes its first row current when it gets the focus.
        selected = self.selectionModel().selectedRows()
        return selected[0].row() if selected else -1

    def set_run_end_source(self, end_of: Callable[[Step], RunEnd]) -> None:
        """Set the function that provides the data of the run end cards, and refresh the cards."""
        self._embedded.run_end_of = end_of
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
        self._scroll_to(position, QAbstractItemView.ScrollHint.PositionAtCenter)
        self._update_following()

    def scroll_to(self, position: int) -> None:
        """Scroll as little as necessary to show the row at a position."""
        self._scroll_to(position, QAbstractItemView.ScrollHint.EnsureVisible)

    def _scroll_to(self, position: int, hint: QAbstractItemView.ScrollHint) -> None:
        """Scroll to a position in two passes, because the first one measures rows, which can move the target."""
        for _ in range(2):
            self.scrollTo(self._rows.index(position, 0), hint)
            self.update_layout()

    def go_to_run(self, by: int) -> None:
        """Select the header of the next (1) or previous (-1) run."""
        position = self.selected_position
        row = self._rows.root_row(position) if position >= 0 else self._rows.count - 1
        if header := self._rows.neighbor_run(row, by):
            self.select_row(header.row)

    def toggle_at(self, position: int) -> None:
        """Fold or unfold the run, group of reads or sub-agent at a position. Its row does not move on screen."""
        step, group = self._rows.step_at(position), self._rows.group_at(position)
        if group:
            toggle = partial(self._rows.toggle_group, group.rows)
        elif step and step.kind == "run":
            toggle = partial(self._rows.toggle_run, step.run)
        elif self._rows.is_expanded(position) is not None:
            toggle = partial(self._rows.toggle_sub_agent, position)
        else:
            return
        self._following = False
        toggle()
        self.update_layout()
        self._update_following()
        announce(self, str(self._rows.index(position, 0).data(Qt.ItemDataRole.AccessibleTextRole)))

    def update_layout(self) -> None:
        """Measure the rows near the viewport without moving those on screen, and place the embedded widgets.

        The update of the layout scrolls, and Qt would then call this method again.
        """
        if self._is_updating:
            return
        self._is_updating = True
        self._layout_timer.stop()
        try:
            if self._layout_due:
                self._layout_due = False
                self.updateGeometries()
            if self._following:
                self._heights.measure_at_end()
            else:
                self._heights.measure_in_place()
            self._place_embedded_widgets()
        finally:
            self._is_updating = False

    def _place_embedded_widgets(self) -> None:
        """Place the embedded widgets. While a visible row is in progress, a timer updates its duration."""
        visible_rows = self._embedded.place_widgets(self)
        if visible_rows.first >= 0 and self._rows.count:
            first, last = self._visible_root_row(visible_rows.first), self._visible_root_row(visible_rows.last)
            self.visible_rows_changed.emit(first, last)
        if not visible_rows.in_progress:
            self._duration_timer.stop()
        elif not self._duration_timer.isActive():
            self._duration_timer.start()

    def _visible_root_row(self, position: int) -> int:
        """Return the row of the main session at or above a position; a reply being streamed counts as the last row."""
        return min(self._rows.root_row(position), self._rows.count - 1)

    def _connect_card(self, card: RunEndCard) -> None:
        card.rated.connect(self.rated)
        card.changes_requested.connect(self.changes_requested)
        card.review_requested.connect(self.review_requested)
        card.retry_requested.connect(self.retry_requested)
        card.model_change_requested.connect(self.model_change_requested)

    def _repaint_durations(self) -> None:
        if self.isVisible():
            self.viewport().update()

    # Handlers of signals

    def _on_session_opened(self) -> None:
        self._replies.clear()
        self._embedded.end_cards.clear()
        self._following = True
        self._set_unseen(0)
        self._schedule_layout()

    def _schedule_layout(self) -> None:
        self._layout_due = True
        self._layout_timer.start()

    def _schedule_later(self, milliseconds: int) -> None:
        """Update the layout after a pause, unless a later update is already scheduled."""
        if not self._delayed_layout_timer.isActive():
            self._delayed_layout_timer.start(milliseconds)

    def _on_data_changed(self, first: QModelIndex, last: QModelIndex) -> None:
        for position in range(first.row(), last.row() + 1):
            if self._rows.is_draft(position):
                self._replies.mark_changed(DRAFT)
        self._schedule_layout()

    def _on_rows_added(self, rows: int) -> None:
        self._replies.images.recheck()
        if not self._following:
            self._set_unseen(self._unseen + rows)

    def _on_draft_replaced(self, row: int) -> None:
        """Show the finished reply in place of the draft, and as the selected step if the draft was selected."""
        self._replies.adopt_draft(row)
        if self.selected_position == self._rows.position_of(row):
            self._emit_chosen()

    def _set_unseen(self, rows: int) -> None:
        if rows != self._unseen:
            self._unseen = rows
            self.unseen_changed.emit(rows)

    def _update_following(self) -> None:
        bar = self.verticalScrollBar()
        self._following = bar.value() >= bar.maximum() - END_TOLERANCE
        if self._following:
            self._set_unseen(0)

    def _on_clicked(self, index: QModelIndex) -> None:
        """Fold or unfold the clicked row: a run header anywhere, an expanded group or a sub-agent only at its arrow."""
        position = index.row()
        step, group = self._rows.step_at(position), self._rows.group_at(position)
        columns = self._painter.columns(self.viewport().width())
        toggles = True
        if step and step.kind == "delegate":
            toggles = columns.badge_right - 3 * ARROW_MARGIN <= self._pressed_x < columns.badge_right + ARROW_MARGIN
        elif group and group.is_expanded:
            toggles = self._pressed_x >= columns.status_icon - ARROW_MARGIN
        if toggles:
            self.toggle_at(position)

    def _on_double_clicked(self, index: QModelIndex) -> None:
        """Open the details of a step.

        Runs and groups are ignored, because the two clicks have folded or unfolded them.
        """
        step = self._rows.step_at(index.row())
        if step and step.kind != "run" and not self._rows.group_at(index.row()):
            self.opened.emit(step)

    def _emit_chosen(self) -> None:
        position = self.selected_position
        step = self._rows.step_at(position) if position >= 0 else None
        if step or (position >= 0 and self._rows.is_draft(position)):
            self.chosen.emit(step)

    def _open(self, position: int) -> None:
        step = self._rows.step_at(position)
        if step is None:
            return
        if step.kind == "run" or self._rows.group_at(position) or self._rows.is_expanded(position) is not None:
            self.toggle_at(position)
        else:
            self.opened.emit(step)

    # Overridden Qt methods

    def dataChanged(self, first: AnyIndex, last: AnyIndex, roles: Sequence[int] = ()) -> None:
        # The widget that shows the streamed reply repaints itself.
        if first != last or not self._rows.is_draft(first.row()):
            super().dataChanged(first, last, roles)

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        super().scrollContentsBy(dx, dy)
        if not self._is_updating:
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
        with QPainter(self.viewport()) as painter:
            painter.fillRect(event.rect(), self._background)
        super().paintEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        keys, position = Qt.Key, self.selected_position
        if event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            event.ignore()
            return
        match event.key():
            case keys.Key_J | keys.Key_Down:
                self._select_neighbor(1)
            case keys.Key_K | keys.Key_Up:
                self._select_neighbor(-1)
            case keys.Key_Home:
                self.select(0)
            case keys.Key_End:
                self.select(self._next_shown(self._rows.rowCount(), -1))
                self.follow()
            case keys.Key_PageDown:
                self.verticalScrollBar().triggerAction(QAbstractSlider.SliderAction.SliderPageStepAdd)
            case keys.Key_PageUp:
                self.verticalScrollBar().triggerAction(QAbstractSlider.SliderAction.SliderPageStepSub)
            case keys.Key_Return | keys.Key_Enter:
                if button := self._focused_button():
                    button.click()  # Qt itself clicks it only in dialogs
                else:
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
        """Expand or collapse a sub-agent. In its steps, collapsing (the Left key) selects the step that started it."""
        if position < 0:
            return
        if self._rows.is_expanded(position) is (not expand):
            self.toggle_at(position)
        elif not expand and (delegating_position := self._rows.delegating_position(position)) is not None:
            self.select(delegating_position)

    def _focused_button(self) -> QAbstractButton | None:
        """Return the button of an embedded widget that has the focus; None if there is none."""
        focused = self.window().focusWidget()
        return focused if isinstance(focused, QAbstractButton) and self.isAncestorOf(focused) else None

    def _select_neighbor(self, direction: int) -> None:
        """Select the next (1) or previous (-1) row; if no row is selected, the first one on screen."""
        position = self.selected_position
        self.select(self._next_shown(position, direction) if position >= 0 else self._first_on_screen())

    def _next_shown(self, position: int, direction: int) -> int:
        """Return the next position in a direction (1 or -1) that is not hidden; `position` itself if there is none."""
        candidate = position + direction
        while 0 <= candidate < self._rows.rowCount() and self._rows.is_hidden(candidate):
            candidate += direction
        return candidate if 0 <= candidate < self._rows.rowCount() else position

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pressed_x = event.position().x()
        super().mousePressEvent(event)

    def _first_on_screen(self) -> int:
        return max(0, self.indexAt(QPoint(1, 1)).row())
