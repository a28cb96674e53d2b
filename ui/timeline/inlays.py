"""The widgets among the painted rows: replies and the ends of runs, how tall they are and where they stand."""

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QRect
from PySide6.QtWidgets import QTableView

from core.domain.steps import Step
from ui.looks import kind_look
from ui.timeline.endings import ABOVE, BELOW, Endings, RunEnd
from ui.timeline.model import TimelineModel
from ui.timeline.replies import DRAFT, Replies
from ui.timeline.rows import RowPainter

GOING: Final = frozenset({"running", "waiting"})


class Inlays:
    """Asked by the view for heights while it settles, and told to stand where they belong afterwards."""

    def __init__(self, rows: TimelineModel, painter: RowPainter, replies: Replies, endings: Endings) -> None:
        self._rows, self._painter, self._replies = rows, painter, replies
        self.endings = endings
        self.end_of: Callable[[Step], RunEnd] = lambda step: RunEnd(rows.header(step.run))

    def height(self, place: int, width: int) -> int:
        """How tall the row at a place is."""
        heights = self._painter.heights
        step = self._rows.step(place)
        if step is None and not self._rows.is_draft(place):
            return heights.work
        if step and self._rows.is_hidden(place):
            return 0
        if step and self._rows.is_nested(step.row):
            return heights.work
        if step is None or kind_look(step.kind).shape == "reply":
            row = step.row if step else DRAFT
            text = self._replies.height(row, self._painter.columns(width).text_width, lambda: self._rows.words(place))
            return text + heights.reply_above + heights.reply_below
        if step.kind == "end":
            return self.endings.height(step, self.end_of(step), self._painter.columns(width).text_width)
        return self._painter.height(step, width)

    def place(self, view: QTableView) -> tuple[int, int, bool]:
        """Put them in their boxes; the first and last place on screen, and whether a row there is still going."""
        replies: dict[int, QRect] = {}
        ends: dict[int, QRect] = {}
        going = False
        count, height = self._rows.rowCount(), view.viewport().height()
        place = first = view.rowAt(0)
        if place >= 0:
            columns, heights = self._painter.columns(view.viewport().width()), self._painter.heights
            y = view.rowViewportPosition(place)
            while place < count and y < height:
                step, tall = self._rows.step(place), view.rowHeight(place)
                if step is None or kind_look(step.kind).shape == "reply":
                    row = step.row if step else DRAFT
                    if row in self._replies.shown:
                        inner = tall - heights.reply_above - heights.reply_below
                        replies[row] = QRect(columns.text, y + heights.reply_above, columns.text_width, inner)
                elif step.row in self.endings.shown:
                    ends[step.row] = QRect(columns.text, y + ABOVE, columns.text_width, tall - ABOVE - BELOW)
                elif step.status in GOING and not step.ended and step.kind != "interrupted":
                    going = True
                y += tall
                place += 1
        self._replies.place(replies)
        self.endings.place(ends)
        return first, place - 1, going
