"""A check box and a radio button whose marks are visible in every theme and scale with the text."""

from typing import Final

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QCheckBox, QRadioButton, QStyle, QStyleOptionButton, QWidget

from ui.style.icons import pixmap
from ui.style.theme import Look
from ui.widgets.paint import draw_frame

MARK: Final = 14
SPACING: Final = 8
PADDING: Final = 4  # pixels around the text, in which the focus frame is painted


class CheckBox(QCheckBox):
    """A custom-painted check box, because Qt's Fusion style paints a dark frame, which is invisible in a dark theme."""

    def __init__(self, look: Look, text: str, *, name: str = "", parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self._look = look
        self.setObjectName(name)
        self.setFont(look.fonts.text)

    def restyle(self, look: Look) -> None:
        self._look = look
        self.setFont(look.fonts.text)
        self.updateGeometry()
        self.update()

    # Overridden Qt methods

    def sizeHint(self) -> QSize:
        return _size_hint(self, self._look)

    def hitButton(self, position: QPoint) -> bool:
        return self.rect().contains(position)

    def paintEvent(self, event: QPaintEvent) -> None:
        option = QStyleOptionButton()
        self.initStyleOption(option)
        with QPainter(self) as painter:
            mark = _paint_mark(painter, self, option, self._look)
            if self.isChecked():
                color = self._look.theme.on_accent if self.isEnabled() else self._look.theme.third
                painter.drawPixmap(mark.topLeft(), pixmap("check", color, mark.width(), self.devicePixelRatioF()))
            self.style().drawControl(QStyle.ControlElement.CE_CheckBoxLabel, option, painter, self)


class RadioButton(QRadioButton):
    """A custom-painted radio button, because the frame of Qt's Fusion style is invisible in a dark theme."""

    def __init__(self, look: Look, text: str, *, name: str = "", parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self._look = look
        self.setObjectName(name)
        self.setFont(look.fonts.text)

    # Overridden Qt methods

    def sizeHint(self) -> QSize:
        return _size_hint(self, self._look)

    def hitButton(self, position: QPoint) -> bool:
        return self.rect().contains(position)

    def paintEvent(self, event: QPaintEvent) -> None:
        option = QStyleOptionButton()
        self.initStyleOption(option)
        with QPainter(self) as painter:
            mark = _paint_mark(painter, self, option, self._look)
            if self.isChecked():
                inset = mark.width() * 0.3
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(self._look.theme.on_accent if self.isEnabled() else self._look.theme.third)
                painter.drawEllipse(QRectF(mark).adjusted(inset, inset, -inset, -inset))
            self.style().drawControl(QStyle.ControlElement.CE_RadioButtonLabel, option, painter, self)


def mark_rect(button: QAbstractButton, look: Look) -> QRect:
    """Return the rectangle of the box or circle."""
    side = look.size(MARK)
    return QRect(1, (button.height() - side) // 2, side, side)


def _size_hint(button: QAbstractButton, look: Look) -> QSize:
    text = button.fontMetrics().size(Qt.TextFlag.TextShowMnemonic, button.text())
    side = look.size(MARK)
    return QSize(1 + side + SPACING + text.width() + PADDING, max(side + 2, text.height() + PADDING))


def _paint_mark(painter: QPainter, button: QAbstractButton, option: QStyleOptionButton, look: Look) -> QRect:
    """Paint the box or circle without its check mark; return its rectangle, and set that of the text in `option`."""
    theme, mark = look.theme, mark_rect(button, look)
    on = button.isChecked() and button.isEnabled()
    focused = bool(option.state & QStyle.StateFlag.State_HasFocus)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(theme.accent if on or focused else theme.third, 1))
    painter.setBrush(theme.accent if on else theme.background)
    radius = mark.width() / 2 if isinstance(button, QRadioButton) else 3
    painter.drawRoundedRect(QRectF(mark).adjusted(0.5, 0.5, -0.5, -0.5), radius, radius)
    text_rect = button.rect().adjusted(mark.right() + 1 + SPACING, 0, 0, 0)
    if focused:
        draw_frame(painter, text_rect.adjusted(-PADDING, 0, 0, 0), 4, None, theme.accent)
    option.rect = text_rect
    return mark
