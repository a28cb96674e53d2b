"""The pill that shows the status of a session in the header of the run page."""

from typing import Final

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from ui.base.step_presentation import status_style, translate
from ui.style.icons import pixmap
from ui.style.theme import Look, blend
from ui.widgets.themed_widget import ThemedWidget

ICON: Final = 14


class StatusPill(ThemedWidget):
    """The status of the session as a pill with an icon and a label."""

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(look, parent)
        self._status = "done"
        self._icon_only = False
        self.setObjectName("run.status")
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def set_icon_only(self, icon_only: bool) -> None:
        """Set whether only the icon is shown, as in narrow windows."""
        if icon_only != self._icon_only:
            self._icon_only = icon_only
            self.updateGeometry()
            self.update()

    def show_status(self, status: str) -> None:
        self._status = status
        self.setToolTip(self._label())
        self.setAccessibleName(self._label())
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(self._look.fonts.second)
        label_width = 0 if self._icon_only else metrics.horizontalAdvance(self._label()) + 6
        return QSize(label_width + self._look.size(ICON) + 16, metrics.height() + 7)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, side = self._look.theme, self._look.size(ICON)
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            style = status_style(self._status)
            color = theme.color(style.token)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(blend(color, theme.background, 0.18 if theme.dark else 0.14))
            painter.drawRoundedRect(QRectF(self.rect()), self.height() / 2, self.height() / 2)
            picture = pixmap(style.icon, color, side, self.devicePixelRatioF())
            painter.drawPixmap(8, (self.height() - side) // 2, picture)
            if self._icon_only:
                return
            painter.setFont(self._look.fonts.second)
            painter.setPen(color)
            rect = self.rect().adjusted(8 + side + 5, 0, 0, 0)
            painter.drawText(rect, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, self._label())

    def _label(self) -> str:
        return translate(status_style(self._status).label)
