"""Paints a row of the waterfall chart: the icon and name of a step on the left, its bar on a time axis to the right."""

from typing import Final

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from core.domain.steps import Step, verb
from ui.base.step_presentation import kind_style, translate
from ui.style.icons import pixmap
from ui.style.number_formats import amount, duration
from ui.style.theme import Look, blend
from ui.timeline.waterfall.model import USER_KINDS, WaterfallModel
from ui.timeline.waterfall.time_scale import ShortenedWaits, TimeScale
from ui.widgets.paint import draw_line, draw_selection

ROW_HEIGHT: Final = 26
EDGE: Final = 20
INDENT: Final = 18
ICON: Final = 16
BAR_HEIGHT: Final = 14
# Pixels by which a bar that exceeds the axis is painted beyond its edges, so that its round corners are not visible.
BAR_OVERHANG: Final = 4.0
MIN_BAR_WIDTH: Final = 2.0
CORNER_RADIUS: Final = 3.0


class BarDelegate(QStyledItemDelegate):
    """Paints a row of the waterfall chart.

    The view sets the scale of the time axis, the waits to shorten, and the width of the column with the names.
    """

    def __init__(self, rows: WaterfallModel, look: Look, parent: QWidget) -> None:
        super().__init__(parent)
        self._rows = rows
        self.scale = TimeScale(0, 1)
        self.waits = ShortenedWaits()
        self.name_width = 0
        self.look = look

    def x_of(self, at: int) -> float:
        """Return the x coordinate in pixels of a time on the axis."""
        return self.scale.to_x(self.waits.axis_time(at))

    def _paint_name(self, painter: QPainter, box: QRect, step: Step) -> None:
        style, theme = kind_style(step.kind), self.look.theme
        icon, token = style.icon, style.token
        if step.kind == "run":
            icon, token = "user", "accent"
        level = 0 if step.kind == "run" or step.kind in USER_KINDS else 1 + step.depth
        x = EDGE + INDENT * level
        size = self.look.size(ICON)
        picture = pixmap(icon, theme.color(token), size, painter.device().devicePixelRatio())
        painter.drawPixmap(x, box.y() + (box.height() - size) // 2, picture)
        rect = QRect(x + size + 7, box.y(), max(0, self.name_width - x - size - 15), box.height() - 1)
        font = self.look.fonts.text
        if step.kind == "run":
            draw_line(painter, rect, f"{translate('Run')} {step.run}", font, theme.text)
            return
        width = draw_line(painter, rect, translate(verb(step.kind, step.status)), font, theme.text)
        draw_line(painter, rect.adjusted(width + 6, 0, 0, 0), step.object, font, theme.second)

    def _paint_bar(self, painter: QPainter, box: QRect, step: Step, background: QColor) -> None:
        theme = self.look.theme
        token = "accent" if step.kind == "run" else kind_style(step.kind).token
        color = theme.failed if step.status == "failed" else theme.color(token)
        start = self.x_of(step.started_at)
        end = max(start + MIN_BAR_WIDTH, self.x_of(self._rows.end_of(step)))
        left = max(start, self.name_width - BAR_OVERHANG)
        right = min(end, box.right() + BAR_OVERHANG)
        if right > left:
            height = self.look.size(BAR_HEIGHT)
            top = box.y() + (box.height() - height) / 2
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(blend(color, background, 0.88))
            painter.drawRoundedRect(
                QRectF(left, top, right - left, height), min(CORNER_RADIUS, (end - start) / 2), CORNER_RADIUS
            )
        self._paint_label(painter, box, self._label(step), left, right)

    def _paint_label(self, painter: QPainter, box: QRect, label: str, left: float, right: float) -> None:
        """Paint the label to the right of the bar; if it does not fit there, inside the bar, or else to its left."""
        theme, font = self.look.theme, self.look.fonts.caption
        width = QFontMetrics(font).horizontalAdvance(label)
        color = theme.third
        if right + width + 12 < box.right():
            x = round(max(right, self.name_width)) + 6
        elif right - left > width + 16:
            x = round(min(right, box.right() - 6.0)) - width - 8
            color = theme.on_accent
        else:
            x = round(min(left, box.right())) - width - 6
        painter.setFont(font)
        painter.setPen(color)
        rect = QRect(x, box.y(), width + 2, box.height() - 1)
        painter.drawText(rect, Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine, label)

    def _label(self, step: Step) -> str:
        parts = [duration(self._rows.end_of(step) - step.started_at)]
        if tokens := step.metrics.get("tokens"):
            parts.append(f"{amount(tokens)} {translate('tok')}")
        if exit_code := step.metrics.get("exit_code"):
            parts.append(f"{translate('exit')} {exit_code}")
        if step.status == "waiting":
            parts.append(translate("waiting"))
        if step.status == "failed" and "exit_code" not in step.metrics:
            parts.append(translate("failed"))
        return " · ".join(text for text in parts if text)

    # Overridden Qt methods

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

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(0, self.look.size(ROW_HEIGHT))
