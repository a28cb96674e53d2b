"""Sets the row heights of the timeline. Only rows near the viewport are measured, because a session may have millions.

A row that has not been measured yet has the default height. Measuring it can therefore move the rows below it, so the
scroll position is corrected after each pass, and passes are repeated until no height changes.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from PySide6.QtWidgets import QTableView

from ui.timeline.embedded_widgets import EmbeddedWidgets
from ui.timeline.timeline_model import TimelineModel

MAX_PASSES: Final = 4


class _Resized(NamedTuple):
    """The result of a measurement: how many rows changed their height, and by how many pixels in total."""

    rows: int = 0
    growth: int = 0


class LazyRowHeights:
    """Measures rows of `view` as they come near the viewport; `embedded` returns the height of a row."""

    def __init__(self, view: QTableView, rows: TimelineModel, embedded: EmbeddedWidgets) -> None:
        self._view = view
        self._rows = rows
        self._embedded = embedded

    def measure_at_end(self) -> None:
        """Measure the last rows and scroll to the end."""
        for _ in range(MAX_PASSES):
            if not self._has_room() or not self._measure_last_rows():
                return

    def measure_in_place(self) -> None:
        """Measure the rows around the viewport without moving the first row that begins on screen."""
        for _ in range(MAX_PASSES):
            if not self._has_room() or not self._measure_visible_rows():
                return

    def _has_room(self) -> bool:
        return self._rows.rowCount() > 0 and self._view.viewport().height() > 0

    def _measure_last_rows(self) -> bool:
        """Measure rows from the end upward until they fill two screens; return whether a height changed."""
        last = self._rows.rowCount() - 1
        resized = self._resize(range(last, -1, -1), 2 * self._view.viewport().height())
        if resized.rows:
            self._view.updateGeometries()
            only_draft_grew = resized.rows == 1 and self._rows.is_draft(last)
            if not only_draft_grew:  # Qt scrolls the rows above a growing reply; they need no repaint
                self._view.viewport().update()
        bar = self._view.verticalScrollBar()
        bar.setValue(bar.maximum())
        return resized.rows > 0

    def _measure_visible_rows(self) -> bool:
        """Measure rows for one screen above the anchor row and two screens below; return whether a height changed."""
        anchor, height = self._anchor(), self._view.viewport().height()
        above = self._resize(range(anchor - 1, -1, -1), height)
        below = self._resize(range(anchor, self._rows.rowCount()), 2 * height)
        if above.rows or below.rows:
            self._view.updateGeometries()
            self._view.viewport().update()
        if above.growth:
            bar = self._view.verticalScrollBar()
            bar.setValue(bar.value() + above.growth)
        return above.rows + below.rows > 0

    def _anchor(self) -> int:
        """Return the row that must not move: the first that begins on screen, or a row that fills the screen."""
        top, last = self._view.rowAt(0), self._rows.rowCount() - 1
        if top < 0:
            return last
        offset = self._view.rowViewportPosition(top)
        reaches_bottom = offset + self._view.rowHeight(top) >= self._view.viewport().height()
        return top if offset == 0 or top == last or reaches_bottom else top + 1

    def _resize(self, positions: Iterable[int], max_height: int) -> _Resized:
        """Measure rows in the given order until they fill `max_height` pixels."""
        header, width = self._view.verticalHeader(), self._view.viewport().width()
        resized = _Resized()
        were_blocked = header.blockSignals(True)  # the view updates its geometry once, after all rows
        for position in positions:
            if max_height <= 0:
                break
            height, before = self._embedded.row_height(position, width), header.sectionSize(position)
            if height != before:
                header.resizeSection(position, height)
                resized = _Resized(resized.rows + 1, resized.growth + height - before)
            max_height -= height
        header.blockSignals(were_blocked)
        return resized
