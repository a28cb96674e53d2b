"""One option of a question: its number, label, description and whether the agent recommends it."""

from typing import Final

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget

from core.domain.question import QuestionOption
from ui.style.theme import Look, blend
from ui.text.visible import visible
from ui.widgets.paint import chip_width, draw_chip, draw_frame, draw_line, draw_wrapped, wrapped_height
from ui.widgets.tooltip import tooltip_text

CHIP: Final = 20
PAD: Final = 8
GAP: Final = 8
CHIP_GAP: Final = 10
RADIUS: Final = 8


class OptionRow(QAbstractButton):
    """A checkable option. With `stacked` the description is below the label instead of to its right."""

    def __init__(
        self, look: Look, option: QuestionOption, number: int, *, stacked: bool, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._look, self._option, self._number, self._stacked = look, option, number, stacked
        self._label, self._description_text = visible(option.label), visible(option.description)
        self._collapsed = False
        self._heights: dict[tuple[int, bool], int] = {}
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
        """Return the label exactly as the agent wrote it, for use in the answer."""
        return self._option.label

    def set_collapsed(self, folded: bool) -> None:
        """Collapse the option to one line unless it is selected, or expand it again."""
        self._collapsed = folded
        self.setToolTip(
            tooltip_text(self._description_text) if folded else ""
        )  # so that the full option can be read without selecting it
        self.updateGeometry()
        self.update()

    def restyle(self, look: Look) -> None:
        self._look = look
        self._heights.clear()
        self.updateGeometry()
        self.update()

    def heightForWidth(self, width: int) -> int:
        # Cached: nested layouts call this about sixty times per display, mostly with the same width.
        key = (width, self._collapsed and not self.isChecked())
        if key not in self._heights:
            self._heights[key] = self._height(width)
        return self._heights[key]

    def _height(self, width: int) -> int:
        fonts = self._look.fonts
        line = QFontMetrics(fonts.strong).height()
        room = width - self._left() - PAD
        if self._on_one_line(room):
            return max(self._chip(), line) + 2 * 6
        return PAD + self._label_height(room) + self._description_height(room) + PAD

    def sizeHint(self) -> QSize:
        return QSize(320, self.heightForWidth(max(self.width(), 320)))

    def minimumSizeHint(self) -> QSize:
        return QSize(160, self._chip() + 2 * 6)

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            self._paint_background(painter)
            room = self.width() - self._left() - PAD
            if self._on_one_line(room):
                self._paint_one_line(painter)
            else:
                self._paint_block(painter, room)

    def _paint_background(self, painter: QPainter) -> None:
        theme = self._look.theme
        chosen, highlighted = self.isChecked(), self.underMouse() or self.hasFocus()
        fill = blend(theme.accent, theme.background, 0.12) if chosen else theme.background
        edge = theme.accent if chosen or self.hasFocus() else theme.third if highlighted else theme.strong_line
        draw_frame(painter, self.rect(), RADIUS, fill, edge)

    def _paint_one_line(self, painter: QPainter) -> None:
        theme, fonts = self._look.theme, self._look.fonts
        self._paint_number(painter, (self.height() - self._chip()) // 2)
        place = QRect(self._left(), 0, self.width() - self._left() - PAD, self.height())
        badge = self._badge_width()
        taken = draw_line(painter, place.adjusted(0, 0, -badge, 0), self._label, fonts.strong, theme.text)
        place.setLeft(place.left() + taken)
        if badge:
            self._paint_badge(painter, place.left() + GAP, self.height() // 2)
            place.setLeft(place.left() + badge)
        if self._description_text:
            place.setLeft(place.left() + GAP)
            draw_line(painter, place, self._description_text, fonts.second, theme.second)

    def _paint_block(self, painter: QPainter, room: int) -> None:
        theme, fonts = self._look.theme, self._look.fonts
        line = QFontMetrics(fonts.strong).height()
        self._paint_number(painter, PAD + (line - self._chip()) // 2)
        height = self._label_height(room)
        place = QRect(self._left(), PAD, max(40, room - self._badge_width()), height)
        draw_wrapped(painter, place, self._label, fonts.strong, theme.text)
        if self._badge_width():
            width = QFontMetrics(fonts.strong).horizontalAdvance(self._label)
            self._paint_badge(painter, self._left() + min(width, room - self._badge_width()) + GAP, PAD + line // 2)
        if self._description_text:
            below = QRect(self._left(), PAD + height + 1, room, self.height())
            draw_wrapped(painter, below, self._description_text, fonts.second, theme.second)

    def _paint_number(self, painter: QPainter, top: int) -> None:
        theme = self._look.theme
        chip = self._chip()
        ink, edge = (theme.accent, theme.accent) if self.isChecked() else (theme.second, theme.strong_line)
        draw_chip(painter, QRect(PAD, top, chip, chip), str(self._number), self._look.fonts.caption, ink, edge)

    def _paint_badge(self, painter: QPainter, left: int, middle: int) -> None:
        theme, font = self._look.theme, self._look.fonts.caption
        height = QFontMetrics(font).height() + 4
        place = QRect(left, middle - height // 2, chip_width(self._badge(), font), height)
        draw_chip(painter, place, self._badge(), font, theme.second, theme.strong_line)

    def _chip(self) -> int:
        return self._look.size(CHIP)

    def _left(self) -> int:
        return PAD + self._chip() + CHIP_GAP

    def _on_one_line(self, room: int) -> bool:
        if self._collapsed and not self.isChecked():
            return True
        fonts = self._look.fonts
        width = QFontMetrics(fonts.strong).horizontalAdvance(self._label) + self._badge_width()
        if self._description_text:
            if self._stacked:
                return False
            width += GAP + QFontMetrics(fonts.second).horizontalAdvance(self._description_text)
        return width <= room and "\n" not in self._label + self._description_text

    def _label_height(self, room: int) -> int:
        room = max(40, room - self._badge_width())
        return wrapped_height(self._label, self._look.fonts.strong, room)

    def _description_height(self, room: int) -> int:
        if not self._description_text:
            return 0
        return wrapped_height(self._description_text, self._look.fonts.second, max(40, room)) + 1

    def _badge(self) -> str:
        return self.tr("recommended")

    def _badge_width(self) -> int:
        return chip_width(self._badge(), self._look.fonts.caption) + GAP if self._option.recommended else 0

    def _description(self) -> str:
        parts = [self._badge()] if self._option.recommended else []
        return ". ".join([*parts, self._description_text] if self._description_text else parts)
