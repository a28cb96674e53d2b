"""The list model and the delegate of the lines of a comparison."""

from typing import Final

from PySide6.QtCore import QObject, QRect, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem

from core.domain.steps import Step
from core.timeline.run_alignment import AlignedPair, Alignment
from ui.base.step_presentation import kind_style, status_style
from ui.compare.lines import ComparisonLine, comparison_lines, is_equal
from ui.compare.texts import accessible_line_text, fold_text, pair_note, step_figure, step_numbers, step_verb
from ui.style.icons import pixmap
from ui.style.theme import Look, blend
from ui.widgets.item_list import AnyIndex, ItemDelegate, ItemListModel
from ui.widgets.paint import draw_line, draw_right_aligned, draw_selection

EDGE: Final = 20
ICON: Final = 16
GAP: Final = 8  # pixels between icon, verb, object and status
MIN_OBJECT_WIDTH: Final = 16  # pixels; if less is left for the object of a step, it is not painted
MIDDLE: Final = 84  # pixels; width of the column with the step numbers
TINT: Final = 0.10
ROUNDING_MARGIN: Final = 2  # pixels; otherwise, a text that just fits would be elided because of rounding


class ComparisonModel(ItemListModel[ComparisonLine]):
    """The lines of a comparison. Equal steps are folded until the user expands them."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.alignment: Alignment | None = None
        self._opened: set[int] = set()

    def show_alignment(self, alignment: Alignment | None) -> None:
        self._opened.clear()
        self.show(())  # even if the lines are equal, another alignment changes how they are painted
        self.alignment = alignment
        self._update_lines()

    def toggle(self, row: int) -> None:
        """Expand or fold the equal steps in a row."""
        line = self.items[row]
        if line.pair is None and line.steps:
            self._opened ^= {line.position}
            self._update_lines()

    def first_difference(self) -> int:
        """Return the row that marks the first difference; -1 if there is none."""
        return next((row for row, line in enumerate(self.items) if line.precedes_difference), -1)

    def _update_lines(self) -> None:
        self.show(comparison_lines(self.alignment, self._opened) if self.alignment else ())

    def accessible_text(self, item: ComparisonLine) -> str:
        return accessible_line_text(item, self.alignment) if self.alignment else ""


class ComparisonDelegate(ItemDelegate):
    """Paints the left step, the step number and the right step.

    A ≠ sign marks a difference, so that color is not needed.
    """

    def __init__(self, look: Look, model: ComparisonModel) -> None:
        super().__init__(look, model)
        self._model = model

    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:
        return QSize(600, QFontMetrics(self.look.fonts.text).height() + 14)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        alignment, line, rect = self._model.alignment, self._model.item(index), option.rect
        if alignment is None or line is None:
            return
        if option.state & QStyle.StateFlag.State_Selected:
            draw_selection(painter, rect, self.look.theme)
        elif line.pair and not is_equal(line.pair):
            self._paint_tint(painter, rect, line.pair)
        if line.pair:
            self._paint_pair(painter, rect, line.pair)
        else:
            self._paint_fold(painter, rect, fold_text(line, alignment), line)

    def _paint_tint(self, painter: QPainter, rect: QRect, pair: AlignedPair) -> None:
        """Paint the background of a pair that differs; if one side has no step, in another color."""
        theme = self.look.theme
        color = theme.waiting if pair.a and pair.b else theme.failed
        painter.fillRect(rect, blend(color, theme.background, TINT))

    def _paint_pair(self, painter: QPainter, rect: QRect, pair: AlignedPair) -> None:
        theme = self.look.theme
        middle = rect.center().x()
        half = self.look.size(MIDDLE) // 2
        left = QRect(rect.left() + EDGE, rect.top(), middle - half - rect.left() - EDGE, rect.height())
        right = QRect(middle + half, rect.top(), rect.right() - EDGE - middle - half, rect.height())
        self._paint_side(painter, left, pair.a)
        self._paint_side(painter, right, pair.b, pair_note(pair))
        numbers = step_numbers(pair)
        if not is_equal(pair):
            numbers += "  ≠"
        painter.setFont(self.look.fonts.second)
        painter.setPen(theme.third if is_equal(pair) else theme.waiting)
        numbers_rect = QRect(left.right(), rect.top(), right.left() - left.right(), rect.height())
        painter.drawText(numbers_rect, Qt.AlignmentFlag.AlignCenter, numbers)

    def _paint_side(self, painter: QPainter, rect: QRect, step: Step | None, note: str = "") -> None:
        look, theme, fonts = self.look, self.look.theme, self.look.fonts
        if step is None:
            draw_line(painter, rect, "—", fonts.text, theme.third)
            return
        size, kind = look.size(ICON), kind_style(step.kind)
        kind_icon = pixmap(kind.icon, theme.color(kind.token), size, painter.device().devicePixelRatio())
        top = rect.center().y() - size // 2
        painter.drawPixmap(rect.left(), top, kind_icon)
        right = rect.right()
        if step.status != "done":
            status = status_style(step.status)
            status_icon = pixmap(status.icon, theme.color(status.token), size, painter.device().devicePixelRatio())
            painter.drawPixmap(right - size, top, status_icon)
            right -= size + GAP
        figure_rect = QRect(rect.left(), rect.top(), right - rect.left(), rect.height())
        right -= draw_right_aligned(painter, figure_rect, step_figure(step), fonts.second, theme.third) + 12
        left = rect.left() + size + GAP
        verb_rect = QRect(left, rect.top(), right - left, rect.height())
        left += draw_line(painter, verb_rect, step_verb(step), fonts.strong, theme.text)
        object_rect = QRect(left + GAP, rect.top(), right - left - GAP, rect.height())
        if object_rect.width() > MIN_OBJECT_WIDTH:
            left += GAP + draw_line(painter, object_rect, step.object, fonts.mono, theme.second) + GAP
        if note and right - left > MIN_OBJECT_WIDTH:
            draw_line(painter, QRect(left, rect.top(), right - left, rect.height()), note, fonts.second, theme.waiting)

    def _paint_fold(self, painter: QPainter, rect: QRect, text: str, line: ComparisonLine) -> None:
        """Paint a dashed line across the row, with the text and the arrow of a fold in the middle."""
        look, theme, font = self.look, self.look.theme, self.look.fonts.second
        color = theme.waiting if line.precedes_difference else theme.second
        size = look.size(ICON) if line.steps else 0
        width = QFontMetrics(font).horizontalAdvance(text) + size + (6 if size else 0)
        left, y = rect.center().x() - width // 2, rect.center().y()
        painter.setPen(QPen(blend(color, theme.background, 0.5), 1, Qt.PenStyle.DashLine))
        painter.drawLine(rect.left() + EDGE, y, left - 10, y)
        painter.drawLine(left + width + 10, y, rect.right() - EDGE, y)
        if size:
            arrow = "chevron-down" if line.is_open else "chevron-right"
            painter.drawPixmap(left, y - size // 2, pixmap(arrow, color, size, painter.device().devicePixelRatio()))
            left += size + 6
        draw_line(painter, QRect(left, rect.top(), width + ROUNDING_MARGIN, rect.height()), text, font, color)
