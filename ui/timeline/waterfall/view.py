"""The bars of the waterfall chart: one row per step, names on the left, a time axis to the right."""

from typing import Final

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QKeyEvent, QPainter, QWheelEvent
from PySide6.QtWidgets import (
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from core.domain.clock import SECOND
from core.domain.steps import Step, verb
from ui.base.step_presentation import kind_style, translate
from ui.style.icons import pixmap
from ui.style.number_formats import amount, duration
from ui.style.theme import Look, blend
from ui.timeline.single_column_table import SingleColumnTable
from ui.timeline.waterfall.model import USER_KINDS, WaterfallModel
from ui.timeline.waterfall.time_scale import ShortenedWaits, TimeScale
from ui.widgets.paint import draw_line, draw_selection

ROW_HEIGHT: Final = 26
EDGE: Final = 20
INDENT: Final = 18
ICON: Final = 16
BAR_HEIGHT: Final = 14
MIN_BAR_WIDTH: Final = 2.0
ZOOM_FACTOR: Final = 0.7
PAN_FRACTION: Final = 0.2


class BarDelegate(QStyledItemDelegate):
    """Paints a row: icon, name, bar and duration."""

    def __init__(self, rows: WaterfallModel, look: Look, parent: QWidget) -> None:
        super().__init__(parent)
        self._rows = rows
        self.scale = TimeScale(0, 1)
        self.waits = ShortenedWaits()
        self.name_width = 0
        self.look = look

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        step = self._rows.step(index.row())
        if step is None:
            return
        box, theme = QRect(option.rect), self.look.theme
        selected = QStyle.StateFlag.State_Selected in option.state
        if selected:
            draw_selection(painter, box, theme)
        else:
            painter.fillRect(box, theme.background)
        painter.fillRect(box.x(), box.bottom(), box.width(), 1, theme.line)
        self._paint_name(painter, box, step)
        painter.save()
        painter.setClipRect(QRect(self.name_width, box.y(), box.width() - self.name_width, box.height()))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_bar(painter, box, step, theme.selection if selected else theme.background)
        painter.restore()

    def _paint_name(self, painter: QPainter, box: QRect, step: Step) -> None:
        look, theme = kind_style(step.kind), self.look.theme
        level = 0 if step.kind == "run" or step.kind in USER_KINDS else 1 + step.depth
        x = EDGE + INDENT * level
        size = self.look.size(ICON)
        name = look.icon if step.kind != "run" else "user"
        picture = pixmap(name, theme.color(look.token if step.kind != "run" else "accent"), size,
                         painter.device().devicePixelRatio())  # fmt: skip
        painter.drawPixmap(x, box.y() + (box.height() - size) // 2, picture)
        rect = QRect(x + size + 7, box.y(), max(0, self.name_width - x - size - 15), box.height() - 1)
        if step.kind == "run":
            draw_line(painter, rect, f"{translate('Run')} {step.run}", self.look.fonts.text, theme.text)
            return
        text, fonts = translate(verb(step.kind, step.status)), self.look.fonts
        width = draw_line(painter, rect, text, fonts.text, theme.text)
        draw_line(painter, rect.adjusted(width + 6, 0, 0, 0), step.object, fonts.text, theme.second)

    def _paint_bar(self, painter: QPainter, box: QRect, step: Step, background: QColor) -> None:
        theme, fonts = self.look.theme, self.look.fonts
        token = "accent" if step.kind == "run" else kind_style(step.kind).token
        color = theme.failed if step.status == "failed" else theme.color(token)
        left, right = self.x_of(step.started_at), self.x_of(self._rows.end_of(step))
        width = max(MIN_BAR_WIDTH, right - left)
        visible_left, visible_right = max(left, self.name_width - 4.0), min(left + width, box.right() + 4.0)
        if visible_right > visible_left:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(blend(color, background, 0.88))
            height = self.look.size(BAR_HEIGHT)
            top = box.y() + (box.height() - height) / 2
            bar = QRectF(visible_left, top, visible_right - visible_left, height)
            painter.drawRoundedRect(bar, min(3.0, width / 2), 3)
        label = self._label(step)
        metrics = QFontMetrics(fonts.caption)
        label_width = metrics.horizontalAdvance(label)
        label_rect = QRect(0, box.y(), label_width + 2, box.height() - 1)
        painter.setFont(fonts.caption)
        if visible_right + label_width + 12 < box.right():
            label_rect.moveLeft(round(max(visible_right, self.name_width)) + 6)
            painter.setPen(theme.third)
        elif visible_right - visible_left > label_width + 16:
            label_rect.moveLeft(round(min(visible_right, box.right() - 6.0)) - label_width - 8)
            painter.setPen(theme.on_accent)
        else:
            label_rect.moveLeft(round(min(visible_left, box.right())) - label_width - 6)
            painter.setPen(theme.third)
        painter.drawText(label_rect, Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine, label)

    def x_of(self, at: int) -> float:
        return self.scale.to_x(self.waits.axis_time(at))

    def _label(self, step: Step) -> str:
        lasted = duration(self._rows.end_of(step) - step.started_at)
        parts = [lasted]
        if step.metrics.get("tokens"):
            parts.append(f"{amount(step.metrics['tokens'])} {translate('tok')}")
        if step.metrics.get("exit_code"):
            parts.append(f"{translate('exit')} {step.metrics['exit_code']}")
        if step.status == "waiting":
            parts.append(translate("waiting"))
        if step.status == "failed" and "exit_code" not in step.metrics:
            parts.append(translate("failed"))
        return " · ".join(text for text in parts if text)

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(0, self.look.size(ROW_HEIGHT))


class WaterfallView(SingleColumnTable):
    """The list of bars. W and S zoom, A and D pan, F fits the selected step.

    Comma and period select the neighboring steps, brackets show the previous or next run.
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
    def limits(self) -> tuple[int, int]:
        """Start and end of the run on the axis."""
        start = self._rows.started_at
        return start, max(start + 1, self.waits.axis_time(self._rows.end_time()))

    def x_of(self, at: int) -> float:
        return self._painter.x_of(at)

    def shorten_waits(self, shorten: bool) -> None:
        """Shorten the long waits for the user on the axis, so that the other steps get the space; or stop doing so."""
        self._shortens_waits = shorten
        self.fit_all()

    def can_shorten_waits(self) -> bool:
        """Return whether the run waited for the user for more than half of the time."""
        waited = ShortenedWaits(self._rows.waits(), self._max_wait()).saved
        return waited * 2 > self._rows.end_time() - self._rows.started_at

    def _max_wait(self) -> int:
        """Return the length of a shortened wait, a small part of the time that the run worked."""
        worked = self._rows.end_time() - self._rows.started_at - ShortenedWaits(self._rows.waits()).saved
        return max(SECOND, worked // 20)

    @property
    def name_width(self) -> int:
        return self._painter.name_width

    def restyle(self, look: Look) -> None:
        self._painter.look = look
        self.set_row_height(look.size(ROW_HEIGHT))
        self.update_scale()

    def update_scale(self) -> None:
        """Adapt the scale to a changed width, run or end time. If the whole run was visible, it stays visible."""
        width = self.viewport().width()
        self._painter.name_width = min(self._painter.look.size(300), max(140, width * 37 // 100))
        waits = self._rows.waits() if self._shortens_waits else ()
        self._painter.waits = ShortenedWaits(waits, self._max_wait() if waits else 0)
        left = self._painter.name_width + 10
        earliest, latest = self.limits
        scale = self._painter.scale
        start, end = (earliest, latest) if self._shows_all else (scale.start, scale.end)
        self._set_scale(TimeScale(start, end, left, max(1, width - left - EDGE)))

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
        """Zoom to the selected step; if it fits already or none is selected, show the whole run."""
        step = self._chosen_step()
        fitted = step and self.scale.fitted(*self._axis_range(step), self.limits)
        if fitted and fitted != self.scale:
            self._zoom_to(fitted)
        else:
            self.fit_all()

    def select_row(self, row: int) -> None:
        """Select a row of the session without emitting `chosen`."""
        position = self._rows.position_of(row)
        blocked = self.selectionModel().blockSignals(True)
        if position is None:
            self.clearSelection()
        else:
            self.setCurrentIndex(self._rows.index(position, 0))
            self.scrollTo(self._rows.index(position, 0))
        self.selectionModel().blockSignals(blocked)
        self._pan_to_selection()
        self.viewport().update()

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
        """Pan until the bar of the selected step is visible."""
        step, scale = self._chosen_step(), self.scale
        if not step or self._shows_all:
            return
        start, end = self._axis_range(step)
        if end < scale.start or start > scale.end:
            share = (start - scale.start) / max(1, scale.end - scale.start) - 0.1
            self._zoom_to(scale.panned(share, self.limits))

    def _axis_range(self, step: Step) -> tuple[int, int]:
        return self.waits.axis_time(step.started_at), self.waits.axis_time(self._rows.end_of(step))

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

    # Qt overrides

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
        """Zoom at the pointer with Ctrl, pan with Shift or a horizontal wheel, scroll otherwise."""
        turned, sideways = event.angleDelta().y(), event.angleDelta().x()
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier and turned:
            self.zoom(ZOOM_FACTOR if turned > 0 else 1 / ZOOM_FACTOR, self.scale.to_time(event.position().x()))
        elif sideways or event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.pan(-PAN_FRACTION * (sideways or turned) / 240)
        else:
            super().wheelEvent(event)
