"""The list of a run's steps: live, still while it is read, and as quick for a million rows as for ten."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from PySide6.QtCore import QModelIndex, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QAbstractSlider, QWidget

from core.domain.steps import Step
from ui.theme import Look
from ui.timeline.bare_table import BareTable
from ui.timeline.endings import EndCard, Endings, RunEnd
from ui.timeline.inlays import Inlays
from ui.timeline.model import AnyIndex, TimelineModel
from ui.timeline.replies import DRAFT, Replies
from ui.timeline.rows import RowPainter

TICK_MS: Final = 1_000
AT_TAIL: Final = 4
PASSES: Final = 4
ARROW_ROOM: Final = 8


class TimelineView(BareTable):
    """Rows get their height when they come near the screen. At the tail it follows; anywhere else it holds still."""

    chosen = Signal(object)
    """The step a person looks at."""
    opened = Signal(object)
    """The step a person wants to see more of."""
    news = Signal(int)
    """Rows that came since the tail was left."""
    link = Signal(str)
    seen = Signal(int, int)
    """The first and the last row on screen."""
    judged = Signal(int, str, str)
    """The verdict on a run, and the note to it."""
    changes_wanted = Signal(str)
    review_wanted = Signal()
    again_wanted = Signal()

    def __init__(self, model: TimelineModel, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAutoScroll(False)
        # We paint every pixel, so scrolling moves the picture and paints the new strip only.
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self._rows = model
        self._painter = RowPainter(model, look, self)
        self._ground = look.theme.background
        self._later = QTimer(self, singleShot=True)
        self._later.timeout.connect(self._mark)
        self._replies = Replies(self.viewport(), look, self.link.emit, self._wait)
        endings = Endings(self.viewport(), look, self._hear_card)
        self._inlays = Inlays(model, self._painter, self._replies, endings)
        self._following = True
        self._settling = self._due = False
        self._unseen = 0
        self._pressed_at = 0.0
        self._soon = QTimer(self, interval=0, singleShot=True)
        self._soon.timeout.connect(self.settle)
        self._tick = QTimer(self, interval=TICK_MS)
        self._tick.timeout.connect(self._count_on)
        self.setObjectName("timeline.steps")
        self.setAccessibleName(self.tr("Steps"))
        self.set_row_height(self._painter.heights.work)
        self.setItemDelegate(self._painter)
        self.setModel(model)
        self._listen(model)

    def _listen(self, model: TimelineModel) -> None:
        model.modelReset.connect(self._begin)
        model.dataChanged.connect(self._change)
        model.rowsInserted.connect(self._mark)
        model.rowsRemoved.connect(self._mark)
        model.grew.connect(self._count_news)
        model.settled.connect(self._replies.settle)
        self.clicked.connect(self._click)
        self.selectionModel().selectionChanged.connect(lambda chosen, _: self._choose())

    # what it does

    @property
    def following(self) -> bool:
        return self._following

    @property
    def replies(self) -> Replies:
        return self._replies

    def restyle(self, look: Look) -> None:
        """Another look; what is read stays in place."""
        self._painter.restyle(look)
        self._ground = look.theme.background
        self._replies.restyle(look)
        self._inlays.endings.restyle(look)
        self.set_row_height(self._painter.heights.work)
        self._mark()

    def follow(self) -> None:
        """Go to the latest row and stay with it."""
        self._following = True
        self._tell_news(0)
        self.settle()

    def select(self, place: int) -> None:
        """Look at a row, and bring it on screen."""
        if 0 <= place < self._rows.rowCount():
            self.setCurrentIndex(self._rows.index(place, 0))
            self.reveal(place)

    def select_row(self, row: int) -> None:
        """Look at a row of the session; a folded run opens for it."""
        step = self._rows.step_of_row(row)
        if step and self._rows.place(row) is None:
            self._rows.toggle(step.run)
        self._rows.open_group_of(row)
        if (place := self._rows.place(row)) is not None:
            self.select(place)

    def tell_ends(self, end_of: Callable[[Step], RunEnd]) -> None:
        """What the cards show, from now on or afresh."""
        self._inlays.end_of = end_of
        self._mark()

    def go_to_row(self, row: int) -> None:
        """Bring a row to the middle of the screen; what is chosen stays chosen."""
        step = self._rows.step_of_row(row)
        place = self._rows.place(row)
        if place is None and step and (header := self._rows.header(step.run)):
            place = self._rows.place(header.row)
        if place is None:
            return
        self._following = False
        for _ in range(2):
            self.scrollTo(self._rows.index(place, 0), QAbstractItemView.ScrollHint.PositionAtCenter)
            self.settle()
        self._note_tail()

    def reveal(self, place: int) -> None:
        """Bring a row on screen; heights found on the way may move it, so look twice."""
        for _ in range(2):
            self.scrollTo(self._rows.index(place, 0), QAbstractItemView.ScrollHint.EnsureVisible)
            self.settle()

    def step_run(self, by: int) -> None:
        """Go to the header of the previous (-1) or next (1) run."""
        place = self._chosen_place()
        chosen = self._rows.step(place) if place >= 0 else None
        if header := self._rows.run_beside(chosen, by):
            self.select_row(header.row)

    def toggle(self, place: int) -> None:
        """Fold or unfold the run, the like reads or the sub-agent that begin here; this row stays where it is."""
        step, group = self._rows.step(place), self._rows.group(place)
        if group:
            turn = partial(self._rows.turn, group[0])
        elif step and step.kind == "run":
            turn = partial(self._rows.toggle, step.run)
        elif step and self._rows.unfolded(step.row) is not None:
            turn = partial(self._rows.turn_nest, step.row)
        else:
            return
        self._following = False
        turn()
        self.settle()
        self._note_tail()

    # heights

    def settle(self) -> None:
        """Give the rows near the screen their heights, hold what is read in place, put replies where they belong."""
        if self._settling:
            return
        self._settling = True
        self._soon.stop()
        try:
            if self._due:
                self._due = False
                self.updateGeometries()
            for _ in range(PASSES):
                if not self._measure():
                    break
            self._place_inlays()
        finally:
            self._settling = False

    def _measure(self) -> bool:
        """One pass over the rows near the screen; True where a height was wrong."""
        count, height = self._rows.rowCount(), self.viewport().height()
        if not count or not height:
            return False
        if self._following:
            changed, _ = self._size_rows(count - 1, -1, -1, 2 * height)
            if changed:
                self.updateGeometries()
            if changed > 1 or (changed and not self._rows.is_draft(count - 1)):
                self.viewport().update()  # a draft that grows moves the rows above it, which costs less
            bar = self.verticalScrollBar()
            if bar.value() != bar.maximum():
                bar.setValue(bar.maximum())
            return changed > 0
        top = self.rowAt(0)
        if top < 0:
            top = count - 1
        offset = self.rowViewportPosition(top)
        anchor = top if offset == 0 or top + 1 >= count or offset + self.rowHeight(top) >= height else top + 1
        above, grown_above = self._size_rows(anchor - 1, -1, -1, height)
        below, _ = self._size_rows(anchor, count, 1, 2 * height)
        if above or below:
            self.updateGeometries()
            self.viewport().update()
        if grown_above:
            bar = self.verticalScrollBar()
            bar.setValue(bar.value() + grown_above)
        return above + below > 0

    def _size_rows(self, place: int, end: int, by: int, room: int) -> tuple[int, int]:
        """Correct heights from `place` on until `room` is filled; how many were wrong, and by how much in all."""
        header, width = self.verticalHeader(), self.viewport().width()
        changed = grown = 0
        blocked = header.blockSignals(True)  # the geometry is brought up to date once, at the end of the pass
        while place != end and room > 0:
            height, had = self._inlays.height(place, width), header.sectionSize(place)
            if height != had:
                header.resizeSection(place, height)
                changed, grown = changed + 1, grown + height - had
            room -= height
            place += by
        header.blockSignals(blocked)
        return changed, grown

    def _place_inlays(self) -> None:
        """Widgets for what is near the screen, and the clock for rows that are still going."""
        first, last, going = self._inlays.place(self)
        ends = (self._rows.step(place) for place in (first, last) if place >= 0)
        shown = [self._rows.root_row(step.row) for step in ends if step]
        if shown:
            self.seen.emit(shown[0], shown[-1] if len(shown) > 1 else self._rows.count - 1)
        if going != self._tick.isActive():
            self._tick.start() if going else self._tick.stop()

    def _hear_card(self, card: EndCard) -> None:
        card.judged.connect(self.judged)
        card.changes_wanted.connect(self.changes_wanted)
        card.review_wanted.connect(self.review_wanted)
        card.again_wanted.connect(self.again_wanted)

    def _count_on(self) -> None:
        if self.isVisible():
            self.viewport().update()

    # what happens

    def _begin(self) -> None:
        self._replies.clear()
        self._inlays.endings.clear()
        self._following = True
        self._tell_news(0)
        self._mark()

    def _mark(self) -> None:
        self._due = True
        self._soon.start()

    def _wait(self, milliseconds: int) -> None:
        if not self._later.isActive():
            self._later.start(milliseconds)

    def _change(self, first: QModelIndex, last: QModelIndex) -> None:
        for place in range(first.row(), last.row() + 1):
            if self._rows.is_draft(place):
                self._replies.change(DRAFT)
        self._mark()

    def _count_news(self, rows: int) -> None:
        if not self._following:
            self._tell_news(self._unseen + rows)

    def _tell_news(self, rows: int) -> None:
        if rows != self._unseen:
            self._unseen = rows
            self.news.emit(rows)

    def _note_tail(self) -> None:
        bar = self.verticalScrollBar()
        self._following = bar.value() >= bar.maximum() - AT_TAIL
        if self._following:
            self._tell_news(0)

    def _click(self, index: QModelIndex) -> None:
        """A header folds wherever it is clicked; the first of like reads that are shown only at its arrow."""
        group = self._rows.group(index.row())
        arrow = self._painter.columns(self.viewport().width()).glyph - ARROW_ROOM
        step = self._rows.step(index.row())
        if step and step.kind == "delegate":
            arrow = self._painter.columns(self.viewport().width()).badge_right - ARROW_ROOM
            if arrow - 2 * ARROW_ROOM <= self._pressed_at < arrow + 2 * ARROW_ROOM:
                self.toggle(index.row())
        elif group is None or not group[1] or self._pressed_at >= arrow:
            self.toggle(index.row())

    def _choose(self) -> None:
        # Not the current row: Qt makes the first one current when the list gets the focus, and nobody chose that.
        chosen = self.selectionModel().selectedRows()
        if chosen and (step := self._rows.step(chosen[0].row())):
            self.chosen.emit(step)

    def _chosen_place(self) -> int:
        """Where the chosen row stands; -1 when none is."""
        index = self.currentIndex()
        return index.row() if self.selectionModel().isSelected(index) else -1

    def _open(self, place: int) -> None:
        step = self._rows.step(place)
        if step and (step.kind == "run" or self._rows.group(place) or self._rows.unfolded(step.row) is not None):
            self.toggle(place)
        elif step:
            self.opened.emit(step)

    # Qt

    def dataChanged(self, first: AnyIndex, last: AnyIndex, roles: Sequence[int] = ()) -> None:
        if first != last or not self._rows.is_draft(first.row()):  # the draft's text widget repaints what changed
            super().dataChanged(first, last, roles)

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        super().scrollContentsBy(dx, dy)
        if not self._settling:
            self._note_tail()
            self.settle()

    def resizeEvent(self, event: QResizeEvent) -> None:
        following = self._following
        super().resizeEvent(event)
        self._following = following
        self.settle()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._due:
            self.settle()
        with QPainter(self.viewport()) as ground:
            ground.fillRect(event.rect(), self._ground)
        super().paintEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        keys, place, last = Qt.Key, self._chosen_place(), self._rows.rowCount() - 1
        if event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            event.ignore()
            return
        match event.key():
            case keys.Key_J | keys.Key_Down:
                self.select(self._next(place, 1) if place >= 0 else self._first_on_screen())
            case keys.Key_K | keys.Key_Up:
                self.select(self._next(place, -1) if place >= 0 else self._first_on_screen())
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
                self._open(place)
            case keys.Key_Right | keys.Key_Left:
                self._unfold(place, wanted=event.key() == keys.Key_Right)
            case keys.Key_BracketLeft:
                self.step_run(-1)
            case keys.Key_BracketRight:
                self.step_run(1)
            case _:
                event.ignore()

    def _unfold(self, place: int, *, wanted: bool) -> None:
        """Show the steps of a sub-agent, or fold them away; from among them, go to the step that gave the work."""
        step = self._rows.step(place) if place >= 0 else None
        if step is None:
            return
        if self._rows.unfolded(step.row) is (not wanted):
            self.toggle(place)
        elif not wanted and (above := self._rows.gave(step.row)) is not None:
            self.select(above)

    def _next(self, place: int, by: int) -> int:
        """The next row that is on screen; the same where there is none."""
        found = place + by
        while 0 <= found < self._rows.rowCount() and self._rows.is_hidden(found):
            found += by
        return found if 0 <= found < self._rows.rowCount() else place

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pressed_at = event.position().x()
        super().mousePressEvent(event)

    def _first_on_screen(self) -> int:
        return max(0, self.indexAt(QPoint(1, 1)).row())
