"""One option of a question: its number, label, description and whether the agent recommends it."""

from typing import Final, NamedTuple

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget

from core.domain.question import QuestionOption
from ui.style.theme import Look, blend
from ui.text.visible import visible
from ui.widgets.paint import chip_width, draw_chip, draw_frame, draw_line, draw_wrapped, wrapped_height
from ui.widgets.tooltip import tooltip_text

CHIP: Final = 20
PAD: Final = 8
ONE_LINE_PAD: Final = 6  # padding above and below a single line
MIN_TEXT_WIDTH: Final = 40
GAP: Final = 8
CHIP_GAP: Final = 10
RADIUS: Final = 8


class _HeightKey(NamedTuple):
    """What the height of a row depends on, besides its text and fonts."""

    width: int
    is_collapsed: bool


class OptionRow(QAbstractButton):
    """A checkable option. If `stacked`, its description is below the label, otherwise to its right."""

    def __init__(
        self, look: Look, option: QuestionOption, number: int, *, stacked: bool, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._look = look
        self._option = option
        self._number = number
        self._stacked = stacked
        self._label = visible(option.label)
        self._description_text = visible(option.description)
        self._collapsed = False
        self._heights: dict[_HeightKey, int] = {}
        self.setObjectName(f"question.option.{number}")
        self.setText(self._label.replace("&", "&&"))
        self.setAccessibleName(self._label)
        self.setAccessibleDescription(self._description())
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.toggled.connect(self.updateGeometry)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def label(self) -> str:
        """Return the label exactly as the agent wrote it. The answer contains it in this form."""
        return self._option.label

    def set_collapsed(self, collapsed: bool) -> None:
        """Set whether the option is collapsed to one line; a selected option always stays expanded."""
        self._collapsed = collapsed
        # While collapsed, the tooltip shows the complete description, so that it can be read without selecting it.
        self.setToolTip(tooltip_text(self._description_text) if collapsed else "")
        self.updateGeometry()
        self.update()

    def restyle(self, look: Look) -> None:
        self._look = look
        self._heights.clear()
        self.updateGeometry()
        self.update()

    def heightForWidth(self, width: int) -> int:
        # Cached, because nested layouts call this about sixty times per display, mostly with the same width.
        key = _HeightKey(width, is_collapsed=self._collapsed and not self.isChecked())
        if key not in self._heights:
            self._heights[key] = self._height_for(width)
        return self._heights[key]

    def _height_for(self, width: int) -> int:
        line_height = QFontMetrics(self._look.fonts.strong).height()
        text_width = width - self._text_left() - PAD
        if self._fits_on_one_line(text_width):
            return max(self._chip_size(), line_height) + 2 * ONE_LINE_PAD
        return PAD + self._label_height(text_width) + self._description_height(text_width) + PAD

    def sizeHint(self) -> QSize:
        return QSize(320, self.heightForWidth(max(self.width(), 320)))

    def minimumSizeHint(self) -> QSize:
        return QSize(160, self._chip_size() + 2 * ONE_LINE_PAD)

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            self._paint_background(painter)
            text_width = self.width() - self._text_left() - PAD
            if self._fits_on_one_line(text_width):
                self._paint_one_line(painter)
            else:
                self._paint_block(painter, text_width)

    def _paint_background(self, painter: QPainter) -> None:
        theme = self._look.theme
        fill = blend(theme.accent, theme.background, 0.12) if self.isChecked() else theme.background
        draw_frame(painter, self.rect(), RADIUS, fill, self._edge_color())

    def _edge_color(self) -> QColor:
        theme = self._look.theme
        uses_keyboard = self.window().testAttribute(Qt.WidgetAttribute.WA_KeyboardFocusChange)
        if self.isChecked() and self.hasFocus() and uses_keyboard:
            return theme.text
        if self.isChecked() or self.hasFocus():
            return theme.accent
        return theme.third if self.underMouse() else theme.strong_line

    def _paint_one_line(self, painter: QPainter) -> None:
        theme, fonts = self._look.theme, self._look.fonts
        self._paint_number(painter, (self.height() - self._chip_size()) // 2)
        text_rect = QRect(self._text_left(), 0, self.width() - self._text_left() - PAD, self.height())
        badge_width = self._badge_width()
        label_rect = text_rect.adjusted(0, 0, -badge_width, 0)
        label_width = draw_line(painter, label_rect, self._label, fonts.strong, theme.text)
        text_rect.setLeft(text_rect.left() + label_width)
        if badge_width:
            self._paint_badge(painter, text_rect.left() + GAP, self.height() // 2)
            text_rect.setLeft(text_rect.left() + badge_width)
        if self._description_text:
            text_rect.setLeft(text_rect.left() + GAP)
            draw_line(painter, text_rect, self._description_text, fonts.second, theme.second)

    def _paint_block(self, painter: QPainter, text_width: int) -> None:
        theme, fonts = self._look.theme, self._look.fonts
        line_height = QFontMetrics(fonts.strong).height()
        self._paint_number(painter, PAD + (line_height - self._chip_size()) // 2)
        height = self._label_height(text_width)
        label_rect = QRect(self._text_left(), PAD, max(MIN_TEXT_WIDTH, text_width - self._badge_width()), height)
        draw_wrapped(painter, label_rect, self._label, fonts.strong, theme.text)
        if self._badge_width():
            label_width = QFontMetrics(fonts.strong).horizontalAdvance(self._label)
            badge_left = self._text_left() + min(label_width, text_width - self._badge_width()) + GAP
            self._paint_badge(painter, badge_left, PAD + line_height // 2)
        if self._description_text:
            description_rect = QRect(self._text_left(), PAD + height + 1, text_width, self.height())
            draw_wrapped(painter, description_rect, self._description_text, fonts.second, theme.second)

    def _paint_number(self, painter: QPainter, top: int) -> None:
        theme = self._look.theme
        chip_size = self._chip_size()
        color = theme.accent if self.isChecked() else theme.second
        border = theme.accent if self.isChecked() else theme.strong_line
        chip_rect = QRect(PAD, top, chip_size, chip_size)
        draw_chip(painter, chip_rect, str(self._number), self._look.fonts.caption, color, border)

    def _paint_badge(self, painter: QPainter, left: int, center_y: int) -> None:
        theme, font = self._look.theme, self._look.fonts.caption
        height = QFontMetrics(font).height() + 4
        badge_rect = QRect(left, center_y - height // 2, chip_width(self._badge_text(), font), height)
        draw_chip(painter, badge_rect, self._badge_text(), font, theme.second, theme.strong_line)

    def _chip_size(self) -> int:
        return self._look.size(CHIP)

    def _text_left(self) -> int:
        return PAD + self._chip_size() + CHIP_GAP

    def _fits_on_one_line(self, text_width: int) -> bool:
        if self._collapsed and not self.isChecked():
            return True
        fonts = self._look.fonts
        width = QFontMetrics(fonts.strong).horizontalAdvance(self._label) + self._badge_width()
        if self._description_text:
            if self._stacked:
                return False
            width += GAP + QFontMetrics(fonts.second).horizontalAdvance(self._description_text)
        return width <= text_width and "\n" not in self._label + self._description_text

    def _label_height(self, text_width: int) -> int:
        label_width = max(MIN_TEXT_WIDTH, text_width - self._badge_width())
        return wrapped_height(self._label, self._look.fonts.strong, label_width)

    def _description_height(self, text_width: int) -> int:
        if not self._description_text:
            return 0
        return wrapped_height(self._description_text, self._look.fonts.second, max(MIN_TEXT_WIDTH, text_width)) + 1

    def _badge_text(self) -> str:
        return self.tr("recommended")

    def _badge_width(self) -> int:
        return chip_width(self._badge_text(), self._look.fonts.caption) + GAP if self._option.recommended else 0

    def _description(self) -> str:
        badge = self._badge_text() if self._option.recommended else ""
        return ". ".join(part for part in (badge, self._description_text) if part)
