"""A link on one line with an optional icon. The text is elided to the available width."""

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QPushButton, QSizePolicy

from ui.style.icons import pixmap
from ui.style.theme import Look
from ui.widgets.paint import draw_frame, draw_line
from ui.widgets.tooltip import tooltip_text

ICON = 14
GAP = 8


class LinkLine(QPushButton):
    """A link. Its tooltip and accessible texts are never shortened, and they include the description."""

    def __init__(
        self, look: Look, text: str, *, name: str, description: str, icon: str = "", color_token: str = "second"
    ) -> None:
        super().__init__(text)
        self._look = look
        self._icon = icon
        self._token = color_token
        self._description = description
        self.setObjectName(name)
        self.setProperty("tone", "link")
        self.setAccessibleDescription(description)
        self.set_text(text)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_text(self, text: str) -> None:
        self._words = text
        self.setText(text.replace("&", "&&"))  # because an ampersand in untrusted text would define a keyboard shortcut
        self.setAccessibleName(text)
        self.setToolTip(tooltip_text(f"{text}\n{self._description}"))
        self.updateGeometry()

    def restyle(self, look: Look) -> None:
        self._look = look
        self.updateGeometry()
        self.update()

    # Overridden Qt methods

    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(self._look.fonts.second)
        return QSize(metrics.horizontalAdvance(self._words) + self._left() + 2, metrics.height() + 4)

    def minimumSizeHint(self) -> QSize:
        return QSize(40, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        look, theme = self._look, self._look.theme
        with QPainter(self) as painter:
            if self._icon:
                size = look.size(ICON)
                icon = pixmap(self._icon, theme.color(self._token), size, self.devicePixelRatioF())
                painter.drawPixmap(0, (self.height() - size) // 2, icon)
            text_rect = QRect(self._left(), 0, self.width() - self._left(), self.height())
            color = theme.accent if self.underMouse() or not self._icon else theme.second
            draw_line(painter, text_rect, self._words, look.fonts.second, color)
            if self.hasFocus():
                draw_frame(painter, self.rect().adjusted(self._left() - GAP // 2, 0, 0, 0), 4, None, theme.accent)

    def _left(self) -> int:
        return self._look.size(ICON) + GAP if self._icon else 0
