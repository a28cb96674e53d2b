"""Measures and places the widgets between the painted rows of the timeline: reply texts and run end cards."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from PySide6.QtCore import QRect
from PySide6.QtWidgets import QTableView, QWidget

from core.domain.steps import Step
from ui.base.step_presentation import kind_style
from ui.timeline.reply_widgets import DRAFT, ReplyWidgets
from ui.timeline.row_delegate import TimelineRowDelegate
from ui.timeline.run_end_card import MARGIN_ABOVE, MARGIN_BELOW, RunEnd, RunEndCards
from ui.timeline.timeline_model import TimelineModel
from ui.widgets.focus_order import set_tab_order, tab_stops

ACTIVE_STATUSES: Final = frozenset({"running", "waiting"})


class VisibleRows(NamedTuple):
    """The rows on screen: the first and the last position (-1 without rows), and whether a row is still in progress."""

    first: int
    last: int
    in_progress: bool


class EmbeddedWidgets:
    """Measures the rows of the timeline for the layout of the view, and then places the widgets in them."""

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
        """Return the height in pixels of the row at a position; 0 if the row is hidden."""
        heights = self._painter.heights
        text_width = self._painter.columns(width).text_width
        step = self._rows.step_at(position)
        if step is None and not self._rows.is_draft(position):
            return heights.work
        if step and self._rows.is_hidden(position):
            return 0
        if step and step.depth:
            return heights.work
        if step is None or kind_style(step.kind).shape == "reply":
            row = step.row if step else DRAFT
            text_height = self._replies.reply_height(row, text_width, lambda: self._rows.text_of(position))
            return text_height + heights.reply_above + heights.reply_below
        if step.kind == "end":
            return self.end_cards.row_height(step, self.run_end_of(step), text_width)
        return self._painter.row_height(step, position, width)

    def place_widgets(self, view: QTableView) -> VisibleRows:
        """Place the widgets of the rows on screen, hide all other widgets, and return which rows are on screen."""
        heights = self._painter.heights
        reply_rects: dict[int, QRect] = {}
        card_rects: dict[int, QRect] = {}
        first = last = view.rowAt(0)
        in_progress = False
        for position in self._visible_positions(view, first):
            last = position
            step = self._rows.step_at(position)
            in_progress = in_progress or _is_in_progress(step)
            if step and step.depth:
                continue  # the rows of sub-agents have no widgets
            row = step.row if step else DRAFT
            if step is None or kind_style(step.kind).shape == "reply":
                if row in self._replies.shown:
                    reply_rects[row] = self._widget_rect(view, position, heights.reply_above, heights.reply_below)
            elif row in self.end_cards.shown:
                card_rects[row] = self._widget_rect(view, position, MARGIN_ABOVE, MARGIN_BELOW)
        self._replies.place_replies(reply_rects)
        self.end_cards.place_cards(card_rects)
        self._order_focus(view, reply_rects, card_rects)
        return VisibleRows(first=first, last=last, in_progress=in_progress)

    def _widget_rect(self, view: QTableView, position: int, above: int, below: int) -> QRect:
        """Return where the widget of a row is placed, with `above` and `below` as its vertical margins."""
        columns = self._painter.columns(view.viewport().width())
        top = view.rowViewportPosition(position) + above
        return QRect(columns.text, top, columns.text_width, view.rowHeight(position) - above - below)

    def _visible_positions(self, view: QTableView, first: int) -> Iterator[int]:
        """Yield the positions on screen, including hidden rows between them."""
        if first < 0:
            return
        y, height = view.rowViewportPosition(first), view.viewport().height()
        position = first
        while position < self._rows.rowCount() and y < height:
            yield position
            y += view.rowHeight(position)
            position += 1

    def _order_focus(self, view: QTableView, reply_rows: Iterable[int], card_rows: Iterable[int]) -> None:
        """Make Tab go from the rows to the buttons in the visible widgets, from top to bottom."""
        placed: dict[int, QWidget] = {row: self._replies.shown[row] for row in reply_rows if row != DRAFT}
        placed |= {row: self.end_cards.shown[row] for row in card_rows}
        widgets = [placed[row] for row in sorted(placed)]
        if widgets == self._in_focus_order:
            return
        self._in_focus_order = widgets
        set_tab_order(view, *(part for widget in widgets for part in tab_stops(widget)))


def _is_in_progress(step: Step | None) -> bool:
    """Return whether a row shows a step whose duration still grows."""
    if step is None or step.kind in {"interrupted", "end"} or kind_style(step.kind).shape == "reply":
        return False
    return step.status in ACTIVE_STATUSES and not step.ended_at
