"""One entry at the foot of the sidebar: icon and title from the left, what waits there as a badge."""

from PySide6.QtCore import QEvent, QRect, QSize, Qt
from PySide6.QtGui import QEnterEvent, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton

from ui.icons import pixmap
from ui.theme import Look
from ui.widgets.paint import chip_width, draw_chip, draw_chosen, draw_frame, draw_line

ICON = 16
PAD = 8


class FootButton(QAbstractButton):
    """Marked while its page is shown."""

    def __init__(self, look: Look, text: str, *, name: str, icon: str) -> None:
        super().__init__()
        self._look, self._icon = look, icon
        self._marked, self._over, self._number = False, False, 0
        self.setObjectName(name)
        self.setText(text)
        self.setAccessibleName(text)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def mark(self, shown: bool) -> None:
        self._marked = shown
        self.setAccessibleDescription(self.tr("Shown now") if shown else self._waits())
        self.update()

    def count(self, number: int) -> None:
        self._number = number
        self.setToolTip(self._waits())
        self.setAccessibleDescription(self._waits())
        self.updateGeometry()
        self.update()

    def restyle(self, look: Look) -> None:
        self._look = look
        self.updateGeometry()
        self.update()

    def _waits(self) -> str:
        return self.tr("{} waiting for you").format(self._number) if self._number else ""

    # Qt

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
            if self._marked:
                draw_chosen(painter, self.rect(), theme, 6)
            elif self._over or self.isDown():
                draw_frame(painter, self.rect(), 6, theme.line, None)
            if self.hasFocus():
                draw_frame(painter, self.rect(), 6, None, theme.accent)
            size = look.size(ICON)
            ink = theme.text if self._marked else theme.second
            glyph = pixmap(self._icon, ink, size, self.devicePixelRatioF())
            painter.drawPixmap(PAD, (self.height() - size) // 2, glyph)
            left = 2 * PAD + size
            room = QRect(left, 0, self.width() - left - PAD, self.height())
            width = draw_line(painter, room, self.text(), look.fonts.strong, ink)
            if self._number:
                self._paint_badge(painter, left + width + PAD)

    def _paint_badge(self, painter: QPainter, left: int) -> None:
        fonts, theme = self._look.fonts, self._look.theme
        height = QFontMetrics(fonts.caption).height() + 4
        chip = QRect(left, (self.height() - height) // 2, chip_width(str(self._number), fonts.caption), height)
        draw_chip(painter, chip, str(self._number), fonts.caption, theme.learned, theme.strong_line)

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self._over = True
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._over = False
        self.update()
