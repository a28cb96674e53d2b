"""The bars of the waterfall chart in a list view, with zooming, panning and selection by keyboard and mouse wheel."""

from typing import Final

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QKeyEvent, QWheelEvent
from PySide6.QtWidgets import QWidget

from core.domain.clock import SECOND
from core.domain.steps import Step
from ui.style.theme import Look
from ui.timeline.single_column_table import SingleColumnTable
from ui.timeline.waterfall.bar_delegate import EDGE, ROW_HEIGHT, BarDelegate
from ui.timeline.waterfall.model import WaterfallModel
from ui.timeline.waterfall.time_scale import ShortenedWaits, TimeRange, TimeScale

AXIS_MARGIN: Final = 10  # pixels between the column of names and the time axis
MIN_NAME_WIDTH, MAX_NAME_WIDTH = 140, 300
NAME_PERCENT: Final = 37  # percent of the view's width for the column of names
WAIT_SHARE: Final = 20  # a shortened wait gets 1/20 of the time that the run worked
ZOOM_FACTOR: Final = 0.7
PAN_FRACTION: Final = 0.2
# In eighths of a degree, the unit of Qt; turning the wheel by this angle (two notches) pans by PAN_FRACTION.
WHEEL_NOTCHES: Final = 240
PAN_MARGIN: Final = 0.1  # part of the visible range that is left free before a bar when the view pans to it


class WaterfallView(SingleColumnTable):
    """The list of bars. W and S zoom, A and D pan, and F zooms to the selected step.

    Comma and period select the neighboring steps; brackets show the previous or next run.
    """

    chosen = Signal(object)
    scale_changed = Signal()
    run_requested = Signal(int)

    def __init__(self, rows: WaterfallModel, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows = rows
        self._painter = BarDelegate(rows, look, self)
        self._shows_all = True
        self._shortens_waits = False
        self.setObjectName("waterfall.bars")
        self.setAccessibleName(self.tr("Steps on a time axis"))
        self.setItemDelegate(self._painter)
        self.setModel(rows)
        self.restyle(look)
        self.selectionModel().selectionChanged.connect(lambda chosen, _: self._choose())

    @property
    def scale(self) -> TimeScale:
        return self._painter.scale

    @property
    def waits(self) -> ShortenedWaits:
        return self._painter.waits

    @property
    def limits(self) -> TimeRange:
        """The range of the run on the time axis."""
        start = self._rows.started_at
        return TimeRange(start, max(start + 1, self.waits.axis_time(self._rows.end_time())))

    def x_of(self, at: int) -> float:
        return self._painter.x_of(at)

    def shorten_waits(self, shorten: bool) -> None:
        """Set whether long waits for the user are shortened on the time axis, so that the other steps get more room."""
        self._shortens_waits = shorten
        self.fit_all()

    def can_shorten_waits(self) -> bool:
        """Return whether shortening waits is worthwhile: it would save more than half of the time axis."""
        waited = ShortenedWaits(self._rows.waits(), self._max_wait()).saved
        return waited * 2 > self._rows.end_time() - self._rows.started_at

    def _max_wait(self) -> int:
        """Return how long a shortened wait is on the axis, in microseconds."""
        worked = self._rows.end_time() - self._rows.started_at - ShortenedWaits(self._rows.waits()).saved
        return max(SECOND, worked // WAIT_SHARE)

    @property
    def name_width(self) -> int:
        return self._painter.name_width

    def restyle(self, look: Look) -> None:
        self._painter.look = look
        self.set_row_height(look.size(ROW_HEIGHT))
        self.update_scale()

    def update_scale(self) -> None:
        """Adapt the scale after the width, the run or its end time has changed.

        If the whole run was visible, it stays visible.
        """
        width = self.viewport().width()
        max_name_width = self._painter.look.size(MAX_NAME_WIDTH)
        self._painter.name_width = min(max_name_width, max(MIN_NAME_WIDTH, width * NAME_PERCENT // 100))
        waits = self._rows.waits() if self._shortens_waits else ()
        self._painter.waits = ShortenedWaits(waits, self._max_wait() if waits else 0)
        left = self._painter.name_width + AXIS_MARGIN
        shown = self.limits if self._shows_all else TimeRange(self.scale.start, self.scale.end)
        self._set_scale(TimeScale(shown.start, shown.end, left, max(1, width - left - EDGE)))

    def fit_all(self) -> None:
        self._shows_all = True
        self.update_scale()

    def zoom(self, factor: float, anchor: int | None = None) -> None:
        scale = self.scale
        if anchor is None:
            step = self._chosen_step()
            middle = (scale.start + scale.end) // 2
            anchor = min(max(scale.start, self.waits.axis_time(step.started_at)), scale.end) if step else middle
        self._zoom_to(scale.zoomed(factor, anchor, self.limits))

    def pan(self, fraction: float) -> None:
        self._zoom_to(self.scale.panned(fraction, self.limits))

    def fit_step(self) -> None:
        """Zoom to the selected step.

        If the view is already zoomed to it, or no step is selected, show the whole run.
        """
        step = self._chosen_step()
        fitted = step and self.scale.fitted(self._axis_range(step), self.limits)
        if fitted and fitted != self.scale:
            self._zoom_to(fitted)
        else:
            self.fit_all()

    def select_row(self, row: int) -> None:
        """Select the bar of a row without emitting `chosen`; a row without a bar clears the selection."""
        position = self._rows.position_of(row)
        with QSignalBlocker(self.selectionModel()):
            if position is None:
                self.clearSelection()
            else:
                self.setCurrentIndex(self._rows.index(position, 0))
                self.scrollTo(self._rows.index(position, 0))
        self._pan_to_selection()
        self.viewport().update()  # the blocked signals would have repainted the view

    def reveal_row(self, row: int) -> None:
        position = min(self._rows.position_from(row), self._rows.rowCount() - 1)
        self.scrollTo(self._rows.index(position, 0), self.ScrollHint.PositionAtCenter)

    def select_neighbor(self, by: int) -> None:
        """Select the next (1) or previous (-1) step."""
        chosen = self.selectionModel().selectedRows()
        position = chosen[0].row() + by if chosen else 0
        if 0 <= position < self._rows.rowCount():
            self.setCurrentIndex(self._rows.index(position, 0))
            self._pan_to_selection()

    def _chosen_step(self) -> Step | None:
        chosen = self.selectionModel().selectedRows()
        return self._rows.step(chosen[0].row()) if chosen else None

    def _pan_to_selection(self) -> None:
        """If the bar of the selected step is not visible, pan to it."""
        step, scale = self._chosen_step(), self.scale
        if not step or self._shows_all:
            return
        start, end = self._axis_range(step)
        if end < scale.start or start > scale.end:
            share = (start - scale.start) / max(1, scale.end - scale.start) - PAN_MARGIN
            self._zoom_to(scale.panned(share, self.limits))

    def _axis_range(self, step: Step) -> TimeRange:
        start, end = self.waits.axis_time(step.started_at), self.waits.axis_time(self._rows.end_of(step))
        return TimeRange(start, end)

    def _zoom_to(self, scale: TimeScale) -> None:
        self._shows_all = (scale.start, scale.end) == self.limits
        self._set_scale(scale)

    def _set_scale(self, scale: TimeScale) -> None:
        self._painter.scale = scale
        self.viewport().update()
        self.scale_changed.emit()

    def _choose(self) -> None:
        chosen = self.selectionModel().selectedRows()
        if chosen and (step := self._rows.step(chosen[0].row())):
            self.chosen.emit(step)

    # Overridden Qt methods

    def keyPressEvent(self, event: QKeyEvent) -> None:
        keys = Qt.Key
        if event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            event.ignore()
            return
        match event.key():
            case keys.Key_W:
                self.zoom(ZOOM_FACTOR)
            case keys.Key_S:
                self.zoom(1 / ZOOM_FACTOR)
            case keys.Key_A | keys.Key_Left:
                self.pan(-PAN_FRACTION)
            case keys.Key_D | keys.Key_Right:
                self.pan(PAN_FRACTION)
            case keys.Key_F:
                self.fit_step()
            case keys.Key_Comma | keys.Key_K:
                self.select_neighbor(-1)
            case keys.Key_Period | keys.Key_J:
                self.select_neighbor(1)
            case keys.Key_BracketLeft | keys.Key_BracketRight:
                self.run_requested.emit(-1 if event.key() == keys.Key_BracketLeft else 1)
            case keys.Key_Up | keys.Key_Down | keys.Key_PageUp | keys.Key_PageDown | keys.Key_Home | keys.Key_End:
                super().keyPressEvent(event)
            case _:
                event.ignore()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom at the pointer with Ctrl, pan with Shift or a horizontal wheel, and otherwise scroll."""
        turned, sideways = event.angleDelta().y(), event.angleDelta().x()
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier and turned:
            self.zoom(ZOOM_FACTOR if turned > 0 else 1 / ZOOM_FACTOR, self.scale.to_time(event.position().x()))
        elif sideways or event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.pan(-PAN_FRACTION * (sideways or turned) / WHEEL_NOTCHES)
        else:
            super().wheelEvent(event)
