"""Measures and places the widgets among the painted rows: reply texts and run end cards."""

from collections.abc import Callable, Iterable
from typing import Final

from PySide6.QtCore import QRect, Qt
from PySide6.QtWidgets import QTableView, QWidget

from core.domain.steps import Step
from ui.base.step_presentation import kind_style
from ui.timeline.reply_widgets import DRAFT, ReplyWidgets
from ui.timeline.row_delegate import TimelineRowDelegate
from ui.timeline.run_end_card import MARGIN_ABOVE, MARGIN_BELOW, RunEnd, RunEndCards
from ui.timeline.timeline_model import TimelineModel

ACTIVE_STATUSES: Final = frozenset({"running", "waiting"})


class EmbeddedWidgets:
    """Provides row heights to the timeline view during layout, and then places the embedded widgets."""

    def __init__(
        self, rows: TimelineModel, painter: TimelineRowDelegate, replies: ReplyWidgets, endings: RunEndCards
    ) -> None:
        self._rows = rows
        self._painter = painter
        self._replies = replies
        self.end_cards = endings
        self._in_focus_order: list[QWidget] = []
        self.run_end_of: Callable[[Step], RunEnd] = lambda step: RunEnd(rows.header(step.run))

    def row_height(self, position: int, width: int) -> int:
        """Return the height of the row at a position."""
        heights = self._painter.heights
        step = self._rows.step_at(position)
        if step is None and not self._rows.is_draft(position):
            return heights.work
        if step and self._rows.is_hidden(position):
            return 0
        if step and step.depth:
            return heights.work
        if step is None or kind_style(step.kind).shape == "reply":
            row = step.row if step else DRAFT
            text = self._replies.reply_height(
                row, self._painter.columns(width).text_width, lambda: self._rows.text_of(position)
            )
            return text + heights.reply_above + heights.reply_below
        if step.kind == "end":
            return self.end_cards.row_height(step, self.run_end_of(step), self._painter.columns(width).text_width)
        return self._painter.row_height(step, position, width)

    def place_widgets(self, view: QTableView) -> tuple[int, int, bool]:
        """Place the widgets; return the first and last visible position, and whether a visible row is in progress."""
        reply_rects: dict[int, QRect] = {}
        card_rects: dict[int, QRect] = {}
        in_progress = False
        count, height = self._rows.rowCount(), view.viewport().height()
        position = first = view.rowAt(0)
        if position >= 0:
            columns, heights = self._painter.columns(view.viewport().width()), self._painter.heights
            y = view.rowViewportPosition(position)
            while position < count and y < height:
                step, row_height = self._rows.step_at(position), view.rowHeight(position)
                row = step.row if step else DRAFT
                is_root_row = step is None or not step.depth
                if step is None or kind_style(step.kind).shape == "reply":
                    if is_root_row and row in self._replies.shown:
                        reply_height = row_height - heights.reply_above - heights.reply_below
                        reply_y = y + heights.reply_above
                        reply_rects[row] = QRect(columns.text, reply_y, columns.text_width, reply_height)
                elif is_root_row and row in self.end_cards.shown:
                    card_rects[row] = QRect(
                        columns.text, y + MARGIN_ABOVE, columns.text_width, row_height - MARGIN_ABOVE - MARGIN_BELOW
                    )
                elif step.status in ACTIVE_STATUSES and not step.ended_at and step.kind != "interrupted":
                    in_progress = True
                y += row_height
                position += 1
        self._replies.place_replies(reply_rects)
        self.end_cards.place_cards(card_rects)
        self._order_focus(view, reply_rects, card_rects)
        return first, position - 1, in_progress

    def _order_focus(self, view: QTableView, reply_rows: Iterable[int], card_rows: Iterable[int]) -> None:
        """Let Tab go from the rows to the buttons of the visible widgets, from top to bottom."""
        placed: dict[int, QWidget] = {row: self._replies.shown[row] for row in reply_rows if row != DRAFT}
        placed |= {row: self.end_cards.shown[row] for row in card_rows}
        widgets = [placed[row] for row in sorted(placed)]
        if widgets == self._in_focus_order:
            return
        self._in_focus_order = widgets
        previous: QWidget = view
        for widget in widgets:
            for part in (widget, *widget.findChildren(QWidget)):
                if part.focusPolicy() & Qt.FocusPolicy.TabFocus:
                    QWidget.setTabOrder(previous, part)
                    previous = part
