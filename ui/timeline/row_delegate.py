"""The delegate that paints timeline rows: steps, run headers, message bubbles, interruptions and compactions."""

from typing import NamedTuple

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from core.domain.steps import Step, verb
from ui.base.step_presentation import (
    Badge,
    badges,
    compaction_line,
    interrupted_line,
    kind_style,
    run_figures,
    status_style,
    translate,
)
from ui.style.icons import pixmap
from ui.style.number_formats import duration
from ui.style.theme import Look, blend
from ui.text.visible import visible
from ui.timeline.nest_layout import RowAddress
from ui.timeline.row_layout import BUBBLE_WIDTH, EDGE, RowColumns, RowHeights
from ui.timeline.row_pixmaps import RowPixmapCache
from ui.timeline.timeline_model import TimelineModel
from ui.timeline.waterfall.time_scale import TimeRange
from ui.timeline.wrapped_text import WrappedTextCache
from ui.widgets.paint import draw_frame, draw_selection

ICON = 16
BADGE_PADDING = 6
# Width in average characters that the text beside the verb keeps; badges that would leave it less are omitted.
MIN_OBJECT = 16
DEPTH_INDENT = 20
TENTH_SECOND = 100_000
CACHED_SCREENS = 4  # maximum size of the pixmap cache, as a multiple of the viewport area
# These flags are plain integers, because combining Qt enumerations for each text of each row is measurably slow.
ONE_LINE = Qt.TextFlag.TextSingleLine.value | Qt.AlignmentFlag.AlignVCenter.value
LEFT = ONE_LINE | Qt.AlignmentFlag.AlignLeft.value
RIGHT = ONE_LINE | Qt.AlignmentFlag.AlignRight.value
CENTER = ONE_LINE | Qt.AlignmentFlag.AlignHCenter.value


class _RowPixmapKey(NamedTuple):
    """Everything besides the step on which the appearance of a painted row depends."""

    address: RowAddress
    width: int
    height: int
    selected: bool
    pixel_ratio: float
    elapsed_tenths: int
    """The elapsed tenths of a second of a step in progress; 0 for a step that has ended."""
    object_text: str
    axis: TimeRange
    expand_icon: str
    is_expanded: bool | None


class TimelineRowDelegate(QStyledItemDelegate):
    """Paints and measures the rows of the timeline. The `shape` of the kind of step determines how."""

    def __init__(self, model: TimelineModel, look: Look, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self.restyle(look)

    def restyle(self, look: Look) -> None:
        self._look = look
        self._heights = RowHeights.of(look.fonts)
        self._columns = RowColumns.of(0, look.fonts)
        self._strong_metrics = QFontMetrics(look.fonts.strong)
        self._mono_metrics = QFontMetrics(look.fonts.mono)
        self._caption_metrics = QFontMetrics(look.fonts.caption)
        self._text_metrics = QFontMetrics(look.fonts.text)
        self._pictures = RowPixmapCache()
        self._bubbles = WrappedTextCache(look.fonts.text)

    @property
    def heights(self) -> RowHeights:
        return self._heights

    def columns(self, width: int) -> RowColumns:
        if self._columns.width != width:
            self._columns = RowColumns.of(width, self._look.fonts)
        return self._columns

    def row_height(self, step: Step, position: int, width: int) -> int:
        """Return the height of a painted row.

        Replies and run end cards are not painted; their widgets measure themselves.
        """
        match kind_style(step.kind).shape:
            case "header":
                return self._heights.header
            case "interrupted":
                return self._heights.interrupted
            case "bubble":
                wrapped = self._bubbles.wrap(self._message(step, position), self._bubble_width(width))
                return round(wrapped.height) + self._heights.bubble_around
            case _:
                return self._heights.work

    def _paint_step(self, painter: QPainter, box: QRect, step: Step, position: int) -> None:
        columns, theme, fonts = self.columns(box.width()), self._look.theme, self._look.fonts
        style = kind_style(step.kind)
        color = theme.color(style.token)
        indent = step.depth * DEPTH_INDENT
        if step.number:
            number_rect = QRect(0, box.y(), columns.number_right + indent, box.height())
            self._paint_text(painter, number_rect, str(step.number), theme.third, fonts.second, RIGHT)
        for depth in range(step.depth):  # vertical lines connect the rows of a sub-agent with the step that started it
            x = columns.number_right + depth * DEPTH_INDENT - 2
            painter.fillRect(x, box.y(), 1, box.height(), theme.line)
        self._paint_icon(painter, style.icon, color, columns.icon + indent, box)
        text_right = columns.badge_right
        if (is_expanded := self._model.is_expanded(position)) is not None:
            arrow_left = text_right - self._look.size(ICON)
            self._paint_icon(painter, "chevron-down" if is_expanded else "chevron-right", theme.second, arrow_left, box)
            text_right = arrow_left - 6
        text_left = columns.verb + indent
        self._paint_description(painter, QRect(text_left, box.y(), text_right - text_left, box.height()), step)
        if columns.bar_width:
            self._paint_bar(painter, columns, box, step, color)
        duration_rect = QRect(columns.bar, box.y(), columns.duration_right - columns.bar, box.height())
        duration_text = duration(self._model.duration_of(step))
        self._paint_text(painter, duration_rect, duration_text, theme.third, fonts.second, RIGHT)
        if expand_icon := self._expand_icon(position):
            self._paint_icon(painter, expand_icon, theme.third, columns.status_icon, box)
        else:
            status = status_style(step.status)
            self._paint_icon(painter, status.icon, theme.color(status.token), columns.status_icon, box)

    def _paint_description(self, painter: QPainter, rect: QRect, step: Step) -> None:
        """Paint the verb and the object of a step on the left, and as many of its badges as fit on the right."""
        theme, fonts, metrics = self._look.theme, self._look.fonts, self._mono_metrics
        verb_text, object_text = translate(verb(step.kind, step.status)), visible(self._model.object_of(step))
        object_left = rect.x() + self._strong_metrics.horizontalAdvance(verb_text) + 8
        min_object_width = min(metrics.horizontalAdvance(object_text), MIN_OBJECT * metrics.averageCharWidth())
        badges_left = object_left + min_object_width + 8
        right = self._paint_badges(painter, rect.x() + rect.width(), rect, badges(step), badges_left)
        verb_rect = QRect(rect.x(), rect.y(), max(0, right - rect.x()), rect.height())
        self._paint_text(painter, verb_rect, verb_text, theme.text, fonts.strong)
        object_rect = QRect(object_left, rect.y(), right - object_left, rect.height())
        if object_rect.width() > 12 and object_text:
            elided_text = metrics.elidedText(object_text, Qt.TextElideMode.ElideRight, object_rect.width() - 8)
            self._paint_text(painter, object_rect, elided_text, theme.second, fonts.mono)

    def _expand_icon(self, position: int) -> str:
        """Return the arrow icon of a group of reads, which replaces the status icon in its first row.

        For any other row, return an empty string.
        """
        group = self._model.group_at(position)
        if group is None:
            return ""
        return "chevron-down" if group.is_expanded else "chevron-right"

    def _paint_header(self, painter: QPainter, box: QRect, step: Step) -> None:
        columns, theme, fonts = self.columns(box.width()), self._look.theme, self._look.fonts
        line = box.adjusted(0, box.height() - self._heights.work - 2, 0, -2)
        name = f"{translate('Run')} {step.run}"
        self._paint_text(painter, line.adjusted(columns.text, 0, 0, 0), name, theme.text, fonts.strong)
        x = columns.text + self._strong_metrics.horizontalAdvance(name) + 8
        figures = " · ".join(run_figures(step, self._model.duration_of(step)))
        figures_rect = QRect(x, line.y(), columns.status_icon - x, line.height())
        self._paint_text(painter, figures_rect, figures, theme.second, fonts.second)
        folded = self._model.is_folded(step.run)
        self._paint_icon(painter, "chevron-right" if folded else "chevron-down", theme.third, columns.status_icon, line)

    def _paint_bubble(self, painter: QPainter, box: QRect, step: Step, position: int) -> None:
        theme = self._look.theme
        wrapped = self._bubbles.wrap(self._message(step, position), self._bubble_width(box.width()))
        width, height = wrapped.width + 24, wrapped.height + 16
        frame = QRectF(box.right() - EDGE - width + 1, box.y() + 8, width, height)
        delivered = step.status == "done"
        painter.setPen(Qt.PenStyle.NoPen if delivered else QPen(theme.strong_line, 1, Qt.PenStyle.DashLine))
        painter.setBrush(theme.bubble if delivered else Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(frame, 10, 10)
        painter.setPen(theme.text if delivered else theme.second)
        wrapped.layout.draw(painter, QPointF(frame.x() + 12, frame.y() + 8))
        if not delivered:  # the message is queued or was removed from the queue, so the model has not received it
            state_rect = QRect(box.x(), box.y(), round(frame.x()) - box.x() - 10, box.height())
            state = translate(verb(step.kind, step.status))
            self._paint_text(painter, state_rect, state, theme.third, self._look.fonts.second, RIGHT)

    def _paint_interruption(self, painter: QPainter, box: QRect, step: Step) -> None:
        columns, theme = self.columns(box.width()), self._look.theme
        painter.fillRect(QRect(columns.text, box.y() + 6, 3, box.height() - 12), theme.waiting)
        line = box.adjusted(columns.text + 14, 0, -EDGE, 0)
        text = self._text_metrics.elidedText(interrupted_line(step), Qt.TextElideMode.ElideRight, line.width())
        self._paint_text(painter, line, text, theme.text, self._look.fonts.text)

    def _paint_compaction(self, painter: QPainter, box: QRect, step: Step) -> None:
        """Paint a dashed line across the row, with the result of the compaction in the middle."""
        columns, theme, fonts = self.columns(box.width()), self._look.theme, self._look.fonts
        metrics = QFontMetrics(fonts.second)
        text = compaction_line(step)
        link_text = f" · {translate('show what was compacted')}" if step.metrics.get("before") else ""
        left, right = columns.text, box.width() - EDGE
        text_width = metrics.horizontalAdvance(text + link_text)
        x = max(left, left + (right - left - text_width) // 2)
        middle = box.y() + box.height() // 2
        painter.setPen(QPen(theme.strong_line, 1, Qt.PenStyle.DashLine))
        if x - 14 > left:
            painter.drawLine(left, middle, x - 14, middle)
            painter.drawLine(x + text_width + 14, middle, right, middle)
        self._paint_text(painter, QRect(x, box.y(), text_width + 2, box.height()), text, theme.second, fonts.second)
        x += metrics.horizontalAdvance(text)
        link_rect = QRect(x, box.y(), text_width + 2, box.height())
        self._paint_text(painter, link_rect, link_text, theme.accent, fonts.second)

    def _paint_cached(self, painter: QPainter, box: QRect, step: Step, position: int, selected: bool) -> None:
        """Paint a step row from the pixmap cache."""
        device, theme = painter.device(), self._look.theme
        ratio = device.devicePixelRatio()
        key = _RowPixmapKey(
            address=self._model.address_at(position),
            width=box.width(),
            height=box.height(),
            selected=selected,
            pixel_ratio=ratio,
            elapsed_tenths=0 if step.ended_at else self._model.duration_of(step) // TENTH_SECOND,
            object_text=self._model.object_of(step),
            axis=self._model.axis(step.run),
            expand_icon=self._expand_icon(position),
            is_expanded=self._model.is_expanded(position),
        )
        row_rect = QRect(0, 0, box.width(), box.height())
        picture = self._pictures.pixmap_for(
            key,
            step,
            size=box.size(),
            ratio=ratio,
            background=theme.selection if selected else theme.background,
            paint=lambda row_painter: self._paint_step(row_painter, row_rect, step, position),
            max_pixels=round(CACHED_SCREENS * device.width() * device.height() * ratio * ratio),
        )
        painter.drawPixmap(box.topLeft(), picture)
        if selected:
            draw_frame(painter, box, 0, None, theme.chosen)

    def _paint_badges(self, painter: QPainter, right: int, box: QRect, badges: list[Badge], left: int) -> int:
        """Paint badges from right to left as long as they stay right of `left`.

        Return the x coordinate left of them.
        """
        theme, height = self._look.theme, self._caption_metrics.height() + 5
        for badge in reversed(badges):
            width = self._caption_metrics.horizontalAdvance(badge.text) + 2 * BADGE_PADDING
            if right - width < left:
                break
            frame = QRectF(right - width + 0.5, box.y() + (box.height() - height) // 2 + 0.5, width - 1, height - 1)
            painter.setPen(QPen(theme.strong_line, 1))
            painter.setBrush(theme.raised)
            painter.drawRoundedRect(frame, 4, 4)
            color, font = theme.color(badge.token), self._look.fonts.caption
            self._paint_text(painter, frame.toRect(), badge.text, color, font, CENTER)
            right -= width + 6
        return right

    def _paint_bar(self, painter: QPainter, columns: RowColumns, box: QRect, step: Step, color: QColor) -> None:
        """Paint the bar that shows the start and the duration of a step on the time axis of its run."""
        axis = self._model.axis(step.run)
        axis_length = max(1, axis.length)
        width = max(4.0, columns.bar_width * min(1.0, self._model.duration_of(step) / axis_length))
        x = columns.bar + columns.bar_width * min(1.0, max(0.0, (step.started_at - axis.start) / axis_length))
        x = min(x, columns.bar + columns.bar_width - width)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(blend(color, self._look.theme.background, 0.9))
        painter.drawRoundedRect(QRectF(x, box.y() + box.height() / 2 - 3, width, 6), min(3.0, width / 2), 3)

    def _paint_icon(self, painter: QPainter, name: str, color: QColor, x: int, box: QRect) -> None:
        ratio, size = painter.device().devicePixelRatio(), self._look.size(ICON)
        painter.drawPixmap(x, box.y() + (box.height() - size) // 2, pixmap(name, color, size, ratio))

    @staticmethod
    def _paint_text(painter: QPainter, box: QRect, text: str, color: QColor, font: QFont, flags: int = LEFT) -> None:
        if text:
            painter.setFont(font)
            painter.setPen(color)
            painter.drawText(box, flags, text)

    def _message(self, step: Step, position: int) -> str:
        return self._model.text_of(position) or step.object

    @staticmethod
    def _bubble_width(width: int) -> int:
        return max(80, min(BUBBLE_WIDTH, width - 160))

    # Overridden Qt methods

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        position, box = index.row(), QRect(option.rect)
        step = self._model.displayed_step(position)
        if step is None or box.height() <= 0:
            return
        selected = QStyle.StateFlag.State_Selected in option.state
        shape = "work" if step.depth else kind_style(step.kind).shape
        if shape == "work":
            self._paint_cached(painter, box, step, position, selected)
            return
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if selected and shape in {"interrupted", "compaction"}:
            draw_selection(painter, box, self._look.theme)
        elif selected:
            painter.fillRect(box, self._look.theme.background)  # hides Qt's own selection color
            painter.fillRect(QRect(0, box.y() + 4, 3, box.height() - 8), self._look.theme.accent)
        match shape:
            case "header":
                self._paint_header(painter, box, step)
            case "bubble":
                self._paint_bubble(painter, box, step, position)
            case "interrupted":
                self._paint_interruption(painter, box, step)
            case "compaction":
                self._paint_compaction(painter, box, step)
            case _:
                pass  # a widget is placed over this row
        painter.restore()

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(0, self._heights.work)
