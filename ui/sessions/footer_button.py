"""A button in the footer of the sidebar with an icon, a title, and a badge for the number of waiting items."""

from PySide6.QtCore import QEvent, QRect, QSize, Qt
from PySide6.QtGui import QEnterEvent, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton

from ui.style.icons import pixmap
from ui.style.theme import Look
from ui.widgets.paint import chip_width, draw_chip, draw_frame, draw_line, draw_selection

ICON = 16
PAD = 8


class FooterButton(QAbstractButton):
    """A button that opens a page. It is highlighted while its page is open."""

    def __init__(self, look: Look, text: str, *, name: str, icon: str) -> None:
        super().__init__()
        self._look = look
        self._icon = icon
        self._current = False
        self._hovered = False
        self._number = 0
        self.setObjectName(name)
        self.setText(text)
        self.setAccessibleName(text)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def set_current(self, current: bool) -> None:
        self._current = current
        self.setAccessibleDescription(self.tr("Current page") if current else self._badge_text())
        self.update()

    def set_badge(self, number: int) -> None:
        self._number = number
        self.setToolTip(self._badge_text())
        self.setAccessibleDescription(self._badge_text())
        self.updateGeometry()
        self.update()

    def restyle(self, look: Look) -> None:
        self._look = look
        self.updateGeometry()
        self.update()

    def _badge_text(self) -> str:
        return self.tr("{} waiting for you").format(self._number) if self._number else ""

    # Overridden Qt methods

    def sizeHint(self) -> QSize:
        fonts, metrics = self._look.fonts, QFontMetrics(self._look.fonts.strong)
        badge = chip_width(str(self._number), fonts.caption) + PAD if self._number else 0
        width = 3 * PAD + self._look.size(ICON) + metrics.horizontalAdvance(self.text()) + badge
        return QSize(width, max(28, metrics.height() + 12))

    def minimumSizeHint(self) -> QSize:
        return QSize(self._look.size(ICON) + 2 * PAD, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        look, theme = self._look, self._look.theme
        with QPainter(self) as painter:
            if self._current:
                draw_selection(painter, self.rect(), theme, 6)
            elif self._hovered or self.isDown():
                draw_frame(painter, self.rect(), 6, theme.line, None)
            if self.hasFocus():
                draw_frame(painter, self.rect(), 6, None, theme.accent)
            icon_size = look.size(ICON)
            color = theme.text if self._current else theme.second
            picture = pixmap(self._icon, color, icon_size, self.devicePixelRatioF())
            painter.drawPixmap(PAD, (self.height() - icon_size) // 2, picture)
            text_left = 2 * PAD + icon_size
            text_rect = QRect(text_left, 0, self.width() - text_left - PAD, self.height())
            width = draw_line(painter, text_rect, self.text(), look.fonts.strong, color)
            if self._number:
                self._paint_badge(painter, text_left + width + PAD)

    def _paint_badge(self, painter: QPainter, left: int) -> None:
        fonts, theme = self._look.fonts, self._look.theme
        height = QFontMetrics(fonts.caption).height() + 4
        badge_rect = QRect(left, (self.height() - height) // 2, chip_width(str(self._number), fonts.caption), height)
        draw_chip(painter, badge_rect, str(self._number), fonts.caption, theme.learned, theme.strong_line)

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self._hovered = True
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._hovered = False
        self.update()
