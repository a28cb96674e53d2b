"""A check box whose frame is visible in every theme."""

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QCheckBox, QStyle, QStyleOptionButton, QWidget

from ui.style.icons import pixmap
from ui.style.theme import Look
from ui.widgets.paint import draw_frame


class CheckBox(QCheckBox):
    """A custom-painted check box: Fusion draws the frame darker than the background, invisible in dark themes."""

    def __init__(self, look: Look, text: str, *, name: str = "", parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self._look = look
        self.setObjectName(name)
        self.setFont(look.fonts.text)

    def restyle(self, look: Look) -> None:
        self._look = look
        self.setFont(look.fonts.text)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        option, theme = QStyleOptionButton(), self._look.theme
        with QPainter(self) as painter:
            self.initStyleOption(option)
            box = self.style().subElementRect(QStyle.SubElement.SE_CheckBoxIndicator, option, self)
            text_rect = self.style().subElementRect(QStyle.SubElement.SE_CheckBoxContents, option, self)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            on = self.isChecked() and self.isEnabled()
            focused = bool(option.state & QStyle.StateFlag.State_HasFocus)
            painter.setPen(QPen(theme.accent if on or focused else theme.third, 1))
            painter.setBrush(theme.accent if on else theme.background)
            painter.drawRoundedRect(QRectF(box).adjusted(0.5, 0.5, -0.5, -0.5), 3, 3)
            if self.isChecked():
                color = theme.on_accent if on else theme.third
                painter.drawPixmap(box.topLeft(), pixmap("check", color, box.width(), self.devicePixelRatioF()))
            if focused:
                draw_frame(painter, text_rect.adjusted(-4, 0, 0, 0), 4, None, theme.accent)
            option.rect = text_rect
            self.style().drawControl(QStyle.ControlElement.CE_CheckBoxLabel, option, painter, self)
